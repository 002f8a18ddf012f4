package refs

import (
	"crypto"
	"crypto/rsa"
	"encoding/asn1"
	"errors"
	"fmt"
)

// What is read from Secrets and ConfigMaps was written by tenants, and is bounded before anything expensive is done with it: to read a
// private key of twice as many bits takes four times as long, half a second for 65,536. All of it is many times what is in use.
const (
	// maxChain and maxBundle are for the texts of a server's chain and of authorities, and for the certificates in them.
	maxChain             = 256 << 10
	maxChainCertificates = 200
	maxBundle            = 1 << 20
	maxAuthorities       = 1000
	// maxKey is for the text of a private key, and maxRSA what any version of BoringSSL reads.
	maxKey = 64 << 10
	maxRSA = 16384
	// maxNesting is how deep the structures of keys are at most.
	maxNesting = 8
)

func checkSize(text []byte, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("it has %d bytes, and %d are allowed", len(text), limit)
	}
	return nil
}

// checkPublicKey refuses what takes too long to use.
func checkPublicKey(key crypto.PublicKey) error {
	if k, ok := key.(*rsa.PublicKey); ok && k.N.BitLen() > maxRSA {
		return fmt.Errorf("an RSA key of %d bits is too long; use %d or less", k.N.BitLen(), maxRSA)
	}
	return nil
}

// errLongNumber is for a key that is too long to be read.
var errLongNumber = errors.New("the key has a number of more than 16384 bits; use a shorter key")

// checkNumbers looks for numbers in a private key that are too long to compute with. It computes nothing. What it cannot read, those who
// read the key cannot read either.
func checkNumbers(der []byte, depth int) error {
	for depth < maxNesting && len(der) > 0 {
		var part asn1.RawValue
		rest, err := asn1.Unmarshal(der, &part)
		if err != nil {
			return nil //nolint:nilerr // those who read the key say what is wrong with it
		}
		switch {
		case part.Class == asn1.ClassUniversal && part.Tag == asn1.TagInteger && len(part.Bytes) > maxRSA/8+1:
			return errLongNumber
		case part.IsCompound, part.Class == asn1.ClassUniversal && part.Tag == asn1.TagOctetString:
			if err := checkNumbers(part.Bytes, depth+1); err != nil {
				return err
			}
		}
		der = rest
	}
	return nil
}
