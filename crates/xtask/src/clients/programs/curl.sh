# Two requests over two connections, by curl.
set -eu
set -- --silent --show-error --max-time 10 --noproxy '*' --cacert "$CA" \
    --resolve "localhost:$PORT:127.0.0.1" --tlsv"$VERSION" --tls-max "$VERSION" \
    --header 'Connection: close' ${CERTIFICATE:+--cert "$CERTIFICATE"}
curl "$@" "https://localhost:$PORT/" "https://localhost:$PORT/"
