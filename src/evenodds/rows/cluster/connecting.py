"""Workers to read data with: those of a running cluster, or processes of this machine."""

import gc
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from evenodds.errors import ClusterError, InputError, MissingExtraError
from evenodds.interrupts import ending_for_certain, held_back
from evenodds.validation import MOST_WORKERS, check_whole
from evenodds.version import __version__

if TYPE_CHECKING:
    from distributed import Client

# How long a scheduler may take to answer, and its first worker to appear.
SECONDS_TO_ANSWER = 5
SECONDS_FOR_A_WORKER = 10
# Dask has its workers give memory back to the system block by block; taking it again costs more
# than the arithmetic of a pass.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": 64 * 2**20, "MALLOC_MMAP_THRESHOLD_": 32 * 2**20}


@contextmanager
def workers(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[bool]:
    """Have Dask run on these workers while inside, and tell whether there are any.

    Parameters
    ----------
    scheduler : str, optional
        Address of a running scheduler, such as ``tcp://host:8786``.
    n_workers : int, optional
        How many processes to start on this machine, with one thread each.
    """
    if scheduler is None and n_workers is None:
        yield False
        return
    if scheduler is not None and n_workers is not None:
        raise InputError("give --scheduler or --workers, not both.")
    try:
        import distributed  # noqa: F401 - an extra, and slow to load
    except ImportError:
        raise MissingExtraError(
            "--scheduler and --workers need the 'dask' extra: install evenodds[dask], or leave "
            "them out."
        ) from None
    if scheduler is not None:
        with _answering(scheduler) as client:
            _check_workers(client, scheduler)
            yield True
        return
    count = check_whole(n_workers, "--workers", at_least=1, at_most=MOST_WORKERS)
    with ending_for_certain(), _started(count):
        yield True


@contextmanager
def _started(count: int) -> Iterator[None]:
    """Run worker processes that only this machine can reach, without a dashboard."""
    import dask
    import distributed

    # After an error or an interrupt nobody waits for Dask's tasks, and each would be logged, some
    # of them when the program ends: only then is this not put back.
    log = logging.getLogger("asyncio")
    level = log.level
    log.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        try:
            with held_back():
                stack.enter_context(
                    dask.config.set(
                        {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MEMORY.items()}
                    )
                )
                # Workers start with one thread for linear algebra each: that is Dask's default.
                cluster = distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(distributed.Client(stack.enter_context(cluster)))
            yield
        finally:
            with held_back():
                stack.close()
    log.setLevel(level)


def _answering(scheduler: str) -> "Client":
    """Connect to a scheduler, or say that it does not answer."""
    from distributed import Client

    refusal: InputError | ClusterError
    try:
        return Client(scheduler, timeout=SECONDS_TO_ANSWER)
    except ValueError as error:
        refusal = InputError(
            f"--scheduler {scheduler} is no address ({error}): write it as tcp://host:8786."
        )
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        refusal = ClusterError(
            f"no Dask scheduler answers at {scheduler} within {SECONDS_TO_ANSWER} seconds "
            f"({reason}): check the address and that it runs, or use --workers for processes on "
            "this machine."
        )
    # A client that never got through closes itself when it is collected. By chance that may be
    # while another one starts, which holds the lock that closing waits for; so it is done now.
    gc.collect()
    raise refusal


def _check_workers(client: "Client", scheduler: str) -> None:
    """Refuse a cluster without workers, or with workers that lack this very package."""
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError:
        raise ClusterError(
            f"the Dask scheduler at {scheduler} has no workers: start some with 'dask worker "
            f"{scheduler}'."
        ) from None
    try:
        # By a builtin, which every worker has: a function of this package would not arrive.
        versions = client.run(eval, "__import__('evenodds').__version__")
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"the workers of {scheduler} cannot load evenodds ({error}): install evenodds "
            f"{__version__} where they run."
        ) from None
    other = sorted({version for version in versions.values() if version != __version__})
    if other:
        raise ClusterError(
            f"this is evenodds {__version__} but workers of {scheduler} have {other[0]}: install "
            "the same version everywhere."
        )
