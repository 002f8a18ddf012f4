package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// identity is a name that the cluster's authority signs. All but servers are clients.
type identity struct {
	file     string
	user     string
	group    string
	dns      []string
	ips      []string
	isServer bool
}

const administrators = "system:masters"

// identities is who there is in the cluster.
var identities = []identity{
	{
		file: "apiserver", user: "kube-apiserver", isServer: true,
		dns: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain, "localhost"},
		ips: []string{nodeAddress, apiServiceIP, "127.0.0.1", nodeAddress6, apiServiceIP6},
	},
	{file: "kubelet-server", user: nodeName, isServer: true, dns: []string{nodeName}, ips: []string{nodeAddress, nodeAddress6}},
	{file: "apiserver-kubelet-client", user: "kube-apiserver-kubelet-client", group: administrators},
	{file: "admin", user: "admin", group: administrators},
	{file: "controller-manager", user: "system:kube-controller-manager"},
	{file: "scheduler", user: "system:kube-scheduler"},
	{file: "kube-proxy", user: "system:kube-proxy"},
	{file: "kubelet", user: "system:node:" + nodeName, group: "system:nodes"},
	{file: "coredns", user: "coredns", group: administrators},
	{file: "loadbalancer", user: "loadbalancer", group: administrators},
}

// createCertificates writes the authority, every identity and the service account key, once.
func createCertificates(l layout) error {
	dir := l.path("pki")
	if exists(dir) {
		return nil
	}
	temporary := dir + ".creating"
	if err := errors.Join(os.RemoveAll(temporary), os.MkdirAll(temporary, 0o700)); err != nil {
		return fmt.Errorf("prepare %s: %w", temporary, err)
	}
	ca, err := newAuthority(temporary)
	if err != nil {
		return err
	}
	for _, id := range identities {
		if err := ca.sign(temporary, id); err != nil {
			return fmt.Errorf("certificate %s: %w", id.file, err)
		}
	}
	if err := writeServiceAccountKey(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("keep the certificates: %w", err)
	}
	return nil
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(dir string) (*authority, error) {
	template := certificateTemplate("gatewright-test-cluster", "")
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority back: %w", err)
	}
	return &authority{certificate, key}, writePair(dir, "ca", der, key)
}

func (a *authority) sign(dir string, id identity) error {
	template := certificateTemplate(id.user, id.group)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if id.isServer {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	template.DNSNames = id.dns
	for _, ip := range id.ips {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return writePair(dir, id.file, der, key)
}

func certificateTemplate(user, group string) *x509.Certificate {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	return template
}

func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	return errors.Join(
		writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der),
		writePEM(filepath.Join(dir, name+".key"), "PRIVATE KEY", private),
	)
}

func writeServiceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	return errors.Join(
		writePEM(filepath.Join(dir, "service-account.key"), "EC PRIVATE KEY", private),
		writePEM(filepath.Join(dir, "service-account.pub"), "PUBLIC KEY", public),
	)
}

func writePEM(path, kind string, der []byte) error {
	return writeFile(path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}
