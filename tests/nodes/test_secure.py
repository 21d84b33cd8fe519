"""What a secured node answers, as the engines page says: the error paths of the command line are tested against it."""

import pytest
import requests


def test_only_a_trusted_connection_with_the_password_gets_in(secure_opensearch):
    node = secure_opensearch
    inside = requests.get(node.url, auth=(node.user, node.password), verify=str(node.ca), timeout=30)
    assert inside.json()["version"]["number"] == "2.19.1"
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(node.url, auth=(node.user, node.password), timeout=30)


@pytest.mark.parametrize("auth", [None, ("admin", "wrong")])
def test_without_the_password_the_answer_is_401_in_plain_text(secure_opensearch, auth):
    answer = requests.get(secure_opensearch.url, auth=auth, verify=str(secure_opensearch.ca), timeout=30)
    assert (answer.status_code, answer.text) == (401, "Unauthorized")
    assert "json" not in answer.headers.get("Content-Type", "")


def test_a_reader_is_refused_writes_and_the_front_page(secure_opensearch):
    def ask(method: str, path: str) -> requests.Response:
        ca = str(secure_opensearch.ca)
        return requests.request(
            method, secure_opensearch.url + path, auth=("readall", "readall"), verify=ca, timeout=30
        )

    assert ask("GET", "/_search").status_code == 200
    for refused in (ask("PUT", "/some-index"), ask("GET", "/")):
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "security_exception")
