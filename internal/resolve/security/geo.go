package security

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// maxLocations bounds the locations of a policy: routes hold each of them.
const maxLocations = 1024

// locations are in the order of the rule.
func (r *resolver) locations(field string, list []v1alpha1.ClientIPGeoLocation) []ir.GeoLocation {
	var all []ir.GeoLocation
	for i := range list {
		all = append(all, r.location(fmt.Sprintf("%s[%d]", field, i), &list[i]))
	}
	return all
}

func (r *resolver) location(field string, l *v1alpha1.ClientIPGeoLocation) ir.GeoLocation {
	var all ir.GeoLocation
	add := func(f ir.GeoField, value string) { all = append(all, ir.GeoValue{Field: f, Value: value}) }
	if l.Country != nil {
		country := strings.ToUpper(*l.Country)
		if len(country) != 2 || strings.Trim(country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			r.fail("%s.country %q is not the code of a country; write it like DE", field, *l.Country)
		}
		add(ir.GeoCountry, country)
	}
	for _, text := range []struct {
		name  string
		field ir.GeoField
		value *string
	}{{"region", ir.GeoRegion, l.Region}, {"city", ir.GeoCity, l.City}, {"isp", ir.GeoISP, l.ISP}} {
		if text.value == nil {
			continue
		}
		if *text.value == "" || *text.value == ir.NoDatabase {
			r.fail("%s.%s %q is no name; correct it", field, text.name, *text.value)
		}
		add(text.field, *text.value)
	}
	if l.ASN != nil {
		if *l.ASN <= 0 || *l.ASN > math.MaxUint32 {
			r.fail("%s.asn %d is not the number of an autonomous system; correct it", field, *l.ASN)
		}
		add(ir.GeoASN, strconv.FormatInt(*l.ASN, 10))
	}
	if a := l.Anonymous; a != nil {
		for _, is := range []struct {
			field ir.GeoField
			value *bool
		}{
			{ir.GeoAnonymous, a.IsAnonymous}, {ir.GeoHosting, a.IsHosting}, {ir.GeoProxy, a.IsProxy}, {ir.GeoTor, a.IsTor}, {ir.GeoVPN, a.IsVPN},
		} {
			if is.value != nil {
				add(is.field, strconv.FormatBool(*is.value))
			}
		}
	}
	if len(all) == 0 {
		r.fail("%s has no condition; set country, region, city, asn, isp or anonymous", field)
	}
	return all
}

// unserved finds rules that ask for what the databases of a Gateway's proxies do not have.
func unserved(p *Policy, gateway *ir.Gateway) *refs.Problem {
	field, settings := gateway.Fleet.Proxies.GeoIP.Missing(p.Spec.Authorization)
	if field == "" || p.Accepted != nil {
		return nil
	}
	return &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: fmt.Sprintf(
		"authorization: rules of clientIPGeoLocations ask for %s, and the proxies of Gateway %s have no database with it; set "+
			"geoIP.maxMind.%s of the ProxyConfig of the Gateway or its GatewayClass, or remove the rules", field, gateway.Name, settings) + closed}
}
