package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// claims are those of a token that was not verified. They prove nothing; they only spare the API server a review of tokens that cannot be
// valid.
type claims struct {
	audiences []string
	expires   time.Time
}

var errNoToken = errors.New("not a service account token")

func readClaims(token string) (claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, errNoToken
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, errNoToken
	}
	var said struct {
		Audiences stringOrList `json:"aud"`
		Expires   float64      `json:"exp"`
	}
	if err := json.Unmarshal(payload, &said); err != nil || said.Expires <= 0 {
		return claims{}, errNoToken
	}
	return claims{audiences: said.Audiences, expires: time.Unix(int64(said.Expires), 0)}, nil
}

// stringOrList is how RFC 7519 writes audiences.
type stringOrList []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = []string{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s)) //nolint:wrapcheck // the caller throws it away
}
