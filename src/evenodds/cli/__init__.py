"""The command line: commands that read alike stand in one file."""
