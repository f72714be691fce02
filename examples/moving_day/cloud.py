#!/usr/bin/env python3
"""cloud.py DIRECTORY SERVER [PORT]: the border of a cloud. Stands before the storage server on port SERVER of 127.0.0.1, passes on
what comes as it is, and counts. When it listens, on PORT or any, `port` is in DIRECTORY; `counts` has, as JSON, the bytes of `data`
and `checkpoints` that left, and the requests that were `throttled` or `refused`.

What `weather` in DIRECTORY says holds from the next request on: `fair`, or nothing: all is passed on; `storm N`: the first and every
other request gets 503, and once N have got it the store is gone; `slow`: each waits a fifth of a second; `gone`: connections are
reset, open ones too.
"""
import http.client
import http.server
import json
import pathlib
import socket
import struct
import sys
import threading
import time

here, server, own_port = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
local = threading.local()
hop_by_hop = {"connection", "keep-alive", "transfer-encoding"}
counting = threading.Lock()
counts = {"data": 0, "checkpoints": 0, "throttled": 0, "refused": 0}
stormy = 0  # requests that came in a storm


def weather():
    try:
        now, *limit = (here / "weather").read_text().split() or ["fair"]
    except FileNotFoundError:
        return "fair"
    # Decided here and not by who watches: a training does many steps while another process reads `counts`.
    return "gone" if now == "storm" and counts["throttled"] >= int(limit[0]) else now


def count(what, number=1):
    with counting:
        counts[what] += number


def is_throttled():
    global stormy
    with counting:
        stormy += 1
        return stormy % 2 == 1


def publish_counts():
    while True:
        time.sleep(0.2)
        with counting:
            text = json.dumps(counts)
        (here / "counts.new").write_text(text)
        (here / "counts.new").rename(here / "counts")


class Border(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def pass_on(self, body, again=True):
        if not hasattr(local, "way"):
            local.way = http.client.HTTPConnection("127.0.0.1", server, timeout=60)
        try:
            local.way.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in hop_by_hop | {"expect"}:
                    local.way.putheader(name, value)
            local.way.endheaders(body)
            answer = local.way.getresponse()
            return answer, answer.read()
        except (http.client.HTTPException, ConnectionError):
            local.way.close()  # it may have been closed while nobody used it
            if not again:
                raise
            return self.pass_on(body, False)

    def refuse(self):
        count("refused")
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def handle_one(self):
        now = weather()
        if now == "gone":
            return self.refuse()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if now == "slow":
            time.sleep(0.2)
        if now == "storm" and is_throttled():
            count("throttled")
            self.send_response(503, "Slow Down")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        answer, text = self.pass_on(body)
        if weather() == "gone":
            return self.refuse()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in hop_by_hop | {"content-length"}:
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(text))  # HEAD's is the object's
        if size is not None and answer.status not in (204, 304):
            self.send_header("Content-Length", size)
        self.end_headers()
        if self.command == "GET" and answer.status in (200, 206):
            count("checkpoints" if "checkpoints" in self.path else "data", len(text))
        self.wfile.write(text)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):  # a client that was killed
        pass


border = Server(("127.0.0.1", own_port), Border)
threading.Thread(target=publish_counts, daemon=True).start()
(here / "port.new").write_text(str(border.server_port))
(here / "port.new").rename(here / "port")
border.serve_forever()
