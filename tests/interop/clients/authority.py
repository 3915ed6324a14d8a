"""A certificate authority that exists only in a directory."""
import ssl
import subprocess

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class Authority:
    def __init__(self, directory):
        self.directory = directory
        self.file = directory / "authority.pem"
        self.key = directory / "authority.key"
        self.openssl("req", "-x509", *CURVE, "-subj", "/CN=authority of a test", "-keyout", self.key, "-out", self.file,
                     "-addext", "keyUsage=critical,keyCertSign")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def context(self, names):
        """For a TLS server that is called by any of these names."""
        request, key, certificate, extensions = (self.directory / f"server.{end}" for end in ("csr", "key", "pem", "ext"))
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names))
        self.openssl("req", "-new", *CURVE, "-subj", "/CN=server", "-keyout", key, "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-CAcreateserial", "-days", "2",
                     "-extfile", extensions, "-out", certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context
