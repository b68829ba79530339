# Two requests over two connections, by openssl s_client; the second one before its handshake is over if so asked.
set -eu
printf 'GET / HTTP/1.0\r\n\r\n' >request
connect() {
    timeout 10 openssl s_client -connect "127.0.0.1:$PORT" \
        -servername localhost -verify_hostname localhost -CAfile "$CA" -verify_return_error \
        -ign_eof "-tls$(printf %s "$VERSION" | tr . _)" \
        ${CERTIFICATE:+-cert "$CERTIFICATE"} "$@" 2>errors | grep -a -E '^Early data was acc|^TLSv.* [01]$' ||
        cat errors >&2
}
connect -sess_out session <request
case $EARLY in
'') connect -sess_in session <request ;;
*) connect -sess_in session -early_data request </dev/null ;;
esac
