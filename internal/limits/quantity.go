package limits

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxQuantityDigits and maxExponentDigits are far beyond every amount of anything. What it takes to read a quantity grows faster than its
// exponent: seconds for `1e-10000000`, more than a minute for `1e-100000000`.
const (
	maxQuantityDigits = 64
	maxExponentDigits = 2
)

// quantityFields are the fields of proxies, and of patches of their workloads, that hold quantities, at whatever depth.
var quantityFields = map[string]bool{
	"resources": true, "requests": true, "limits": true, "autoscaling": true,
	"sizeLimit": true, "divisor": true, "capacity": true, "volumeClaimTemplate": true,
}

// CheckQuantities finds the first quantity in the JSON of an object that is too long to be read. It reads none of them.
func CheckQuantities(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return checkValue(decoder, "", false)
}

// CheckNumbers is [CheckQuantities] for text whose fields are not known, such as a patch: every string and number that looks like a
// quantity counts, whatever its field is called.
func CheckNumbers(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return checkValue(decoder, "", true)
}

// checkValue looks at the next value of a field. Whether it is complete is for its reader to find.
func checkValue(decoder *json.Decoder, field string, quantities bool) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		for decoder.More() {
			name, inside := field, quantities
			if t == '{' {
				key, err := decoder.Token()
				if err != nil {
					return fmt.Errorf("no JSON: %w", err)
				}
				name, _ = key.(string)
				inside = quantities || quantityFields[name]
			}
			if err := checkValue(decoder, name, inside); err != nil {
				return err
			}
		}
		if _, err := decoder.Token(); err != nil {
			return fmt.Errorf("no JSON: %w", err)
		}
	case string:
		if quantities && !shortQuantity(t) {
			return fmt.Errorf("%s: quantity %.20q… is too long; use at most %d digits, and an exponent of at most %d without a fraction",
				field, t, maxQuantityDigits, maxExponentDigits)
		}
	case json.Number:
		if quantities && !shortQuantity(t.String()) {
			return fmt.Errorf("%s: number %.20s… is too long", field, t)
		}
	}
	return nil
}

// shortQuantity says whether a quantity takes no time to read. What is no quantity does not either.
func shortQuantity(text string) bool {
	rest := strings.TrimLeft(strings.TrimSpace(text), "+-.0123456789")
	digits := 0
	for _, c := range text[:len(text)-len(rest)] {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	if digits > maxQuantityDigits {
		return false
	}
	if rest == "" || rest[0] != 'e' && rest[0] != 'E' {
		return true
	}
	exponent := strings.TrimLeft(rest[1:], "+-")
	if exponent == "" || strings.Trim(exponent, ".0123456789") != "" {
		return true // E, Ei, or no quantity
	}
	return len(exponent) <= maxExponentDigits && !strings.Contains(exponent, ".")
}
