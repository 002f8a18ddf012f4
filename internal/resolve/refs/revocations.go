package refs

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// reasonInvalidRevocations is why a certificate revocation list cannot be used.
const reasonInvalidRevocations = "InvalidCRLRef"

// WithRevocations follows references to certificate revocation lists. It returns the name of a bundle together with these lists, see
// [AuthoritiesNamed]. All of them must be good: without one of them proxies would accept what it revokes.
func WithRevocations(v *store.View, objects *store.Objects, from Origin, bundle string, list []gwv1.ObjectReference) (string, *Problem) {
	var sources []string
	size := 0
	for _, ref := range list {
		target := Target{Kind: string(ref.Kind), Namespace: valueOr(ref.Namespace, from.Namespace), Name: string(ref.Name)}
		if ref.Group != coreGroup || target.Kind != string(store.ConfigMap) && target.Kind != string(store.Secret) {
			return "", &Problem{Reason: string(gwv1.RouteReasonInvalidKind), Message: fmt.Sprintf(
				"CRL %s has kind %q in group %q, which is not served; refer to a ConfigMap or a Secret", ref.Name, ref.Kind, ref.Group)}
		}
		if !Permitted(v, objects, from, target) {
			return "", &Problem{Reason: string(gwv1.ListenerReasonRefNotPermitted), Message: fmt.Sprintf(
				"no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to %s %s/%s",
				target.Namespace, from.Kind, from.Namespace, target.Kind, target.Namespace, target.Name)}
		}
		text, problem := revocations(v, objects, target)
		if problem != nil {
			return "", problem
		}
		if size += len(text); size > maxBundle {
			return "", &Problem{Reason: reasonInvalidRevocations, Message: fmt.Sprintf(
				"the CRLs together have more than %d bytes; refer to fewer", maxBundle)}
		}
		sources = append(sources, authoritiesSource(target))
	}
	slices.Sort(sources)
	return bundle + revocationSeparator + strings.Join(slices.Compact(sources), bundleSeparator), nil
}

// revocationSeparator stands between the sources of a bundle and those of its revocation lists. No name of a Kubernetes object holds it.
const revocationSeparator = "!"

// revocationsNamed reads the lists whose sources a name has. An empty name has none.
func revocationsNamed(v *store.View, objects *store.Objects, name string) ([]byte, *Problem) {
	if name == "" {
		return nil, nil
	}
	var lists []byte
	for source := range strings.SplitSeq(name, bundleSeparator) {
		text, problem := revocations(v, objects, authoritiesTarget(source))
		if problem != nil {
			return nil, problem
		}
		lists = append(lists, text...)
	}
	return lists, nil
}

// revocations reads the lists in `ca.crl` of a ConfigMap or Secret, as PEM that holds nothing else.
func revocations(v *store.View, objects *store.Objects, target Target) ([]byte, *Problem) {
	key, field := store.Key(target.Namespace, target.Name), v1alpha1.CRLKey
	name := target.Kind + " " + key
	var text []byte
	var found bool
	if target.Kind == string(store.Secret) {
		var secret *corev1.Secret
		if secret, found = objects.Secrets.Get(v, key); found {
			text = secret.Data[field]
		}
	} else {
		var config *corev1.ConfigMap
		if config, found = objects.ConfigMaps.Get(v, key); found {
			text = textOf(config, field)
		}
	}
	if !found {
		return nil, &Problem{Reason: reasonInvalidRevocations, Message: "there is no " + name}
	}
	lists, err := parseRevocations(text)
	if err != nil {
		return nil, &Problem{
			Reason: reasonInvalidRevocations, Message: fmt.Sprintf("%s does not hold usable CRLs in %s: %v", name, field, err),
		}
	}
	return lists, nil
}

const maxRevocationLists = 1000

var (
	errNoRevocations     = errors.New("it has no PEM block of type X509 CRL")
	errTwice             = errors.New("it has an extension twice")
	errDistributionPoint = errors.New("its issuing distribution point cannot be read")
	distributionPoint    = asn1.ObjectIdentifier{2, 5, 29, 28}
)

// parseRevocations keeps the lists and nothing else. One that cannot be read spoils all: what it revokes would be accepted.
func parseRevocations(text []byte) ([]byte, error) {
	if err := checkSize(text, maxBundle); err != nil {
		return nil, err
	}
	var lists []byte
	number := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "X509 CRL" {
			continue
		}
		if number++; number > maxRevocationLists {
			return nil, fmt.Errorf("it has more than %d lists", maxRevocationLists)
		}
		list, err := x509.ParseRevocationList(block.Bytes)
		if err == nil {
			err = checkExtensions(list)
		}
		if err != nil {
			return nil, fmt.Errorf("list %d: %w", number, err)
		}
		// Go does not read what is behind the list.
		lists = append(lists, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: list.Raw})...)
	}
	if number == 0 {
		return nil, errNoRevocations
	}
	return lists, nil
}

// checkExtensions refuses what BoringSSL does and Go does not: an extension that is there twice, and a distribution point that is none.
func checkExtensions(list *x509.RevocationList) error {
	seen := map[string]bool{}
	for _, extension := range list.Extensions {
		id := extension.Id.String()
		if seen[id] {
			return errTwice
		}
		seen[id] = true
		if !extension.Id.Equal(distributionPoint) {
			continue
		}
		var point struct {
			Name            asn1.RawValue  `asn1:"optional,tag:0"`
			OnlyUsers       bool           `asn1:"optional,tag:1"`
			OnlyAuthorities bool           `asn1:"optional,tag:2"`
			Reasons         asn1.BitString `asn1:"optional,tag:3"`
			Indirect        bool           `asn1:"optional,tag:4"`
			OnlyAttributes  bool           `asn1:"optional,tag:5"`
		}
		if rest, err := asn1.Unmarshal(extension.Value, &point); err != nil || len(rest) > 0 {
			return errDistributionPoint
		}
	}
	return nil
}
