"""What the scripted servers of this directory have in common."""
import http.server
import json
import pathlib
import sys
import threading

notes = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer's head and body in one packet: the second would wait for the first one's receipt
    out_of_range = b""  # the body of 416

    def log_message(self, *_):
        pass

    def read_body(self):
        """Of the request. Who goes away in the middle of one has asked for nothing."""
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionAbortedError("the client went away")
        return body

    def answer(self, status, body=b"", **headers):
        """Bytes, or what is sent as JSON; a header's `-` is written `_`."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def answer_range(self, body, **headers):
        """The range that is asked for; the whole body where none is, and to HEAD."""
        wanted = self.headers.get("Range")
        if not wanted or self.command == "HEAD":
            return self.answer(200, body, **headers)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        if int(first) >= len(body):
            return self.answer(416, self.out_of_range, Content_Range=f"bytes */{len(body)}")
        last = min(int(last or len(body)), len(body) - 1)
        self.answer(206, body[int(first):last + 1], Content_Range=f"bytes {first}-{last}/{len(body)}", **headers)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # clients that connect at once

    def handle_error(self, *where):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients go away
            super().handle_error(*where)


def note(directory, *words):
    """Adds a line for a kind of request to the file `requests` of the directory."""
    with notes, open(pathlib.Path(directory) / "requests", "a") as out:
        out.write(" ".join(filter(None, words)) + "\n")


def serve(handler, directory):
    """For ever, on a free port, which is printed, and written to the file `port` of the directory, when the server listens."""
    server = Server(("127.0.0.1", 0), handler)
    port = pathlib.Path(directory) / "port"
    port.with_suffix(".new").write_text(str(server.server_port))
    port.with_suffix(".new").rename(port)
    print(server.server_port, flush=True)
    server.serve_forever()
