"""A server for npm, pip and git, over TLS and plain HTTP, on several addresses, behind any number of names."""
import http.server
import os
import socket
import socketserver
import subprocess
import threading

import content

GIT_BACKEND = "/usr/lib/git-core/git-http-backend"


class HttpServer(http.server.ThreadingHTTPServer):
    # Connections that npm opens together.
    request_queue_size = 128

    def __init__(self, site, address, context):
        self.site = site
        self.context = context
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def server_bind(self):
        # HTTPServer looks the name of the address up.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def finish_request(self, request, client_address):
        # In the thread of the connection: a client that sends nothing delays no other.
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        """A client that goes away is no fault."""


class Site:
    """What is served. `requests` are all requests so far: (scheme, host, path)."""

    def __init__(self, repositories):
        self.repositories = repositories
        self.packages = {name: content.npm_tarball(name) for name in ["answer", *content.PARTS]}
        self.wheel = content.wheel()
        self.requests = []

    def listen(self, address, context=None):
        """Serves until the process ends, and returns the port."""
        server = HttpServer(self, address, context)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port

    def hosts(self):
        return {host.split(":")[0] for _, host, _ in self.requests}


class Handler(http.server.BaseHTTPRequestHandler):
    """/npm/, /pip/ and /git/. A path that begins with /to/HOST leads there: its links and redirects name this host."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        site, host = self.server.site, self.headers["Host"]
        scheme = "http" if self.server.context is None else "https"
        site.requests.append((scheme, host, self.path))
        path, target = self.path, host
        if path.startswith("/to/"):
            target, path = path[len("/to/"):].split("/", 1)
            path = "/" + path
        _, part, rest = path.split("/", 2)
        if part == "git":
            if target == host:
                self.run_git("/" + rest)
            else:
                self.redirect(f"{scheme}://{target}{path}")
        elif part == "npm":
            self.serve_npm(rest, f"{scheme}://{target}/npm/")
        elif part == "pip":
            self.serve_pip(rest, f"{scheme}://{target}/pip/files/{content.WHEEL}")
        else:
            self.send_error(404)

    do_POST = do_GET

    def serve_npm(self, rest, base):
        name = rest.split("/")[0]
        if name not in self.server.site.packages:
            self.send_error(404)
            return
        manifest, tarball = self.server.site.packages[name]
        if rest.endswith(".tgz"):
            self.answer("application/octet-stream", tarball)
        else:
            self.answer("application/json", content.npm_document(manifest, tarball, f"{base}{name}/-/{name}.tgz"))

    def serve_pip(self, rest, file):
        wheel = self.server.site.wheel
        if rest == "simple/corral-answer/":
            self.answer("text/html", content.simple_index(file, wheel))
        elif rest == f"files/{content.WHEEL}":
            self.answer("application/zip", wheel)
        else:
            self.send_error(404)

    def run_git(self, path):
        path, _, query = path.partition("?")
        environment = dict(
            os.environ, GIT_PROJECT_ROOT=str(self.server.site.repositories), GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
            QUERY_STRING=query, REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""),
            HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""), GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        output = subprocess.run([GIT_BACKEND], input=self.body(), env=environment, check=True, capture_output=True).stdout
        head, _, body = output.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(fields.pop("Status", "200").split()[0])
        self.answer(fields.pop("Content-Type"), body, status)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def redirect(self, url):
        self.answer("text/plain", b"", 302, Location=url)

    def answer(self, kind, data, status=200, **fields):
        self.send_response(status)
        fields.update({"Content-Type": kind, "Content-Length": len(data)})
        # RFC 9112, 9.6, recommends it, and http.server does not: without it a client may send its next request here.
        if self.close_connection:
            fields["Connection"] = "close"
        for name, value in fields.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)
