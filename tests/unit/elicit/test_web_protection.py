"""Who may talk to the page: nobody but the page itself, with the secret address."""

import pytest
from tests.unit.elicit.asking import PORT, TOKEN, Client, answer


def test_a_wrong_token_gets_403(client):
    for path in ("/", "/wrong/", "/wrong/sit/Ada", f"/{TOKEN}x/", f"/{TOKEN.upper()}/", "//"):
        assert client.ask("GET", path).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example"},
        {"host": f"evil.example:{PORT}"},
        {"host": "127.0.0.1"},
    ],
)
def test_other_pages_cannot_post_answers(send, session, headers):
    reply = answer(send, 0, "skip", headers=headers)
    assert reply.status_code == 403
    assert session.store.answers() == []


def test_an_answer_without_an_origin_is_refused(session):
    form = {"number": "0", "verdict": "skip"}
    reply = Client(session).ask("POST", f"/{TOKEN}/sit/Ada/answer", data=form)
    assert reply.status_code == 403


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
def test_other_pages_cannot_read_either(at, headers):
    assert at("sit/Ada", headers=headers).status_code == 403


def test_other_pages_cannot_embed_a_picture(at, session):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert at(f"picture/{session.plan.cases[0]}/3", headers=headers).status_code == 403


def test_following_the_address_from_a_message_is_welcome(at):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert at(headers=headers).status_code == 200


def test_localhost_is_the_same_machine(at):
    headers = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    assert at(headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["", "sit/Ada", "static/page.js", "nowhere"])
def test_every_reply_forbids_what_it_can(at, path):
    headers = at(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'; ")
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in headers


def test_a_refusal_forbids_it_too(client):
    assert "content-security-policy" in client.ask("GET", "/wrong/").headers
