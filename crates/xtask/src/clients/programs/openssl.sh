# Two requests over two connections, by openssl s_client.
set -eu
ask() {
    printf 'GET / HTTP/1.0\r\n\r\n' | timeout 10 openssl s_client -connect "127.0.0.1:$PORT" \
        -servername localhost -verify_hostname localhost -CAfile "$CA" -verify_return_error \
        -quiet -ign_eof "-tls$(printf %s "$VERSION" | tr . _)" \
        ${CERTIFICATE:+-cert "$CERTIFICATE"} "$@" 2>errors | tail -n 1 || cat errors >&2
}
ask -sess_out session
ask -sess_in session
