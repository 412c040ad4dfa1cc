package hub

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// expiry is when an image's URL ends, from the token in it (RFC 7519, exp);
// zero where it has none or never ends.
func expiry(address string) time.Time {
	parsed, err := url.Parse(address)
	if err != nil {
		return time.Time{}
	}
	candidates := []string{parsed.Query().Get("image_token"), parsed.Query().Get("api_key")}
	for i, part := range strings.Split(parsed.Path, "/") {
		if i > 0 && strings.Count(part, ".") == 2 {
			candidates = append(candidates, part)
		}
	}
	for _, token := range candidates {
		fields := strings.Split(token, ".")
		if len(fields) != 3 {
			continue
		}
		data, err := base64.RawURLEncoding.DecodeString(fields[1])
		if err != nil {
			continue
		}
		var claims struct {
			Ends int64 `json:"exp"`
		}
		if json.Unmarshal(data, &claims) == nil && claims.Ends > 0 {
			return time.Unix(claims.Ends, 0).UTC()
		}
	}
	return time.Time{}
}
