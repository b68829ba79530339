// Two requests over two connections, by crypto/tls and net/http of Go.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"time"
)

func must(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}

func main() {
	version := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[os.Getenv("VERSION")]
	text, err := os.ReadFile(os.Getenv("CA"))
	must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	config := &tls.Config{RootCAs: trusted, ServerName: "localhost", MinVersion: version,
		MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	if name := os.Getenv("CERTIFICATE"); name != "" {
		own, err := tls.LoadX509KeyPair(name, name)
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	for range [2]int{} {
		answer, err := client.Get("https://127.0.0.1:" + os.Getenv("PORT") + "/")
		must(err)
		_, err = io.Copy(os.Stdout, answer.Body)
		must(err)
		answer.Body.Close()
	}
}
