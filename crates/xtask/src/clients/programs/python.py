# Two requests over two connections, by the ssl module of Python.
import os
import socket
import ssl

version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[os.environ["VERSION"]]
context = ssl.create_default_context(cafile=os.environ["CA"])
context.minimum_version = context.maximum_version = version
if os.environ["CERTIFICATE"]:
    context.load_cert_chain(os.environ["CERTIFICATE"])
session = None
for _ in range(2):
    plain = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=10)
    with context.wrap_socket(plain, server_hostname="localhost", session=session) as encrypted:
        encrypted.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b""
        while chunk := encrypted.recv(4096):
            answer += chunk
        session = encrypted.session
    print(answer.split(b"\r\n\r\n", 1)[1].decode(), end="")
