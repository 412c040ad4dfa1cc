package auth

import (
	"encoding/json"
	"net/http"
)

// TokenPath is where the stand-in login server gives access tokens, under the
// --sso-url that clients are given.
const TokenPath = "/auth/realms/redhat-external/protocol/openid-connect/token"

// offlineClient is the client id that users' tools log in as.
const offlineClient = "cloud-services"

type tokenAnswer struct {
	AccessToken      string `json:"access_token"`
	ExpiresIn        int64  `json:"expires_in"` // seconds
	RefreshExpiresIn int64  `json:"refresh_expires_in"`
	RefreshToken     string `json:"refresh_token,omitempty"`
	TokenType        string `json:"token_type"`
	NotBefore        int64  `json:"not-before-policy"`
	Scope            string `json:"scope"`
}

type tokenError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// Login is the stand-in login server. It answers TokenPath: a refresh token for
// the client cloud-services, or a service account's id and secret, in the form
// or in a Basic header. Outside RHSSO it knows nobody.
func (s *Service) Login() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+TokenPath, s.giveToken)
	return mux
}

func (s *Service) giveToken(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		answerLogin(w, http.StatusBadRequest, tokenError{"invalid_request", "the form cannot be read"})
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	answer := tokenAnswer{ExpiresIn: int64(AccessTokenLifetime.Seconds()), TokenType: "Bearer", Scope: "openid"}
	username := ""
	switch grant := r.PostForm.Get("grant_type"); grant {
	case "refresh_token":
		if id != offlineClient {
			answerLogin(w, http.StatusUnauthorized, tokenError{"invalid_client", "Invalid client or Invalid client credentials"})
			return
		}
		if s.offline == "" || !sameText(r.PostForm.Get("refresh_token"), s.offline) {
			answerLogin(w, http.StatusBadRequest, tokenError{"invalid_grant", "Invalid refresh token"})
			return
		}
		answer.RefreshToken, answer.Scope = s.offline, "openid offline_access"
	case "client_credentials":
		if s.secret == "" || !sameText(id, s.account) || !sameText(secret, s.secret) {
			answerLogin(w, http.StatusUnauthorized, tokenError{"unauthorized_client", "Invalid client or Invalid client credentials"})
			return
		}
		username = "service-account-" + s.account
	default:
		answerLogin(w, http.StatusBadRequest, tokenError{"unsupported_grant_type", "Unsupported grant_type"})
		return
	}
	token, err := s.Mint(Grant{Scheme: UserAuth, Username: username})
	if err != nil {
		answerLogin(w, http.StatusInternalServerError, tokenError{"server_error", "no token could be made"})
		return
	}
	answer.AccessToken = token
	answerLogin(w, http.StatusOK, answer)
}

func answerLogin(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only when the caller is gone
}
