"""A registry for npm of the packages in a folder: registry.py FOLDER PORTFILE."""

import base64
import hashlib
import http.server
import json
import os
import sys
import tarfile

folder, portfile = sys.argv[1:]
packages = {}
for name in os.listdir(folder):
    if name.endswith(".tgz"):
        path = os.path.join(folder, name)
        with tarfile.open(path) as archive:
            packages[json.load(archive.extractfile("package/package.json"))["name"]] = path


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/").split("/")[0]
        if name not in packages:
            self.send_error(404)
            return
        with open(packages[name], "rb") as f:
            body = f.read()
        if not self.path.endswith(".tgz"):
            with tarfile.open(packages[name]) as archive:
                package = json.load(archive.extractfile("package/package.json"))
            package["dist"] = {
                "tarball": f"http://{self.headers['Host']}/{name}/{name}.tgz",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(body).digest()).decode(),
            }
            version = package["version"]
            body = json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: package}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(portfile, "w", encoding="utf-8") as f:
    f.write(str(server.server_port))
server.serve_forever()
