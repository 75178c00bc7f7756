"""The floor of reads: aiohttp and msgspec with nothing between them.

    python -m bench.echo PORT CONTENT_BYTES

One POST route decodes its body and answers a document of the size that a read answers.
"""

import sys

import msgspec
import uvloop
from aiohttp import web

HOST = "127.0.0.1"
PATH = "/v1/memory/read"

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def document(scope: str, path: str, content: str) -> dict[str, object]:
    """The answer to a read, key for key."""
    return {
        "document": {
            "scope": scope,
            "path": path,
            "content": content,
            "version": 1,
            "created_at": "2026-11-29T23:50:08.079957Z",
            "updated_at": "2026-11-29T23:50:08.079957Z",
            "actor": "client:default",
            "redacted": False,
            "extra": {},
        }
    }


def application(content: str) -> web.Application:
    async def echo(request: web.Request) -> web.Response:
        body = _decode(await request.read())
        answer = _encode(document(body["scope"], body["path"], content))
        return web.Response(body=answer, content_type="application/json")

    app = web.Application()
    app.router.add_post(PATH, echo)
    return app


def main(arguments: list[str]) -> None:
    port, content_bytes = map(int, arguments)
    web.run_app(
        application("x" * content_bytes),
        host=HOST,
        port=port,
        access_log=None,
        print=None,
        loop=uvloop.new_event_loop(),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
