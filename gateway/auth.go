package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kith-nearby/kith/presence"
)

// Limits of tokens and keys.
const (
	MaxTokenBytes = 8 << 10          // a longer token is refused unread
	MinSecret     = 32               // bytes of an HS256 secret, RFC 7518 section 3.2
	MinAPIKey     = 16               // bytes of an API key
	tokenLeeway   = 60 * time.Second // for clocks of issuers that are off
)

// latestExpiry is the last second that has a four-digit year.
var latestExpiry = time.Unix(253402300799, 0)

// Errors of Auth. Every error of Auth.User is an ErrUnauthorized; one of a token
// whose time is over is an ErrExpired too. Their sentences may be shown to
// clients: they hold nothing of the token but its times.
var (
	ErrUnauthorized = errors.New("unauthorized")
	ErrExpired      = errors.New("token expired")
)

// Claims is what a valid user token says.
type Claims struct {
	User    presence.PublicID
	Expires time.Time // the token's exp, without leeway
}

// AuthConfig says who may come in.
type AuthConfig struct {
	HS256Secret string   // signs user tokens; at least MinSecret bytes
	APIKeys     []string // of operators; each at least MinAPIKey bytes; none = nobody is an operator
	// Dev accepts short secrets and keys, and makes up a random secret if there
	// is none.
	Dev bool
}

// Auth checks user tokens and API keys. It is immutable.
type Auth struct {
	secret []byte
	keys   [][sha256.Size]byte
	parser *jwt.Parser
}

// NewAuth returns an Auth, or all faults of cfg in one error.
func NewAuth(cfg AuthConfig) (*Auth, error) {
	var faults []error
	secret := []byte(cfg.HS256Secret)
	switch {
	case len(secret) == 0 && cfg.Dev:
		secret = make([]byte, MinSecret)
		_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
	case len(secret) < MinSecret && !cfg.Dev:
		faults = append(faults, fmt.Errorf("auth.hs256_secret has %d bytes and needs at least %d; make one with: openssl rand -hex 32", len(secret), MinSecret))
	}
	a := &Auth{secret: secret, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithoutClaimsValidation(), // done in checkTimes, with the caller's clock
		jwt.WithStrictDecoding(),
	)}
	for i, key := range cfg.APIKeys {
		if key == "" || len(key) < MinAPIKey && !cfg.Dev {
			faults = append(faults, fmt.Errorf("auth.api_keys[%d] has %d bytes and needs at least %d", i, len(key), MinAPIKey))
			continue
		}
		a.keys = append(a.keys, sha256.Sum256([]byte(key)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return a, nil
}

// APIKey reports whether key is one of the configured ones. Its time depends on
// neither which key it is nor how much of it is right: hashes are compared, and
// always all of them.
func (a *Auth) APIKey(key string) bool {
	sum := sha256.Sum256([]byte(key))
	match := 0
	for i := range a.keys {
		match |= subtle.ConstantTimeCompare(sum[:], a.keys[i][:])
	}
	return match == 1
}

// User returns what a user token says if it holds at now: a JWT signed with
// HS256, with a sub that is a public id, an exp, and optionally nbf and iat.
func (a *Auth) User(token string, now time.Time) (Claims, error) {
	switch {
	case token == "":
		return Claims{}, refused("there is no token; send a user token")
	case len(token) > MaxTokenBytes:
		return Claims{}, refused("the token is longer than %d bytes", MaxTokenBytes)
	}
	var rc jwt.RegisteredClaims
	parsed, err := a.parser.ParseWithClaims(token, &rc, func(*jwt.Token) (any, error) { return a.secret, nil })
	if err != nil {
		return Claims{}, explainParse(parsed, err)
	}
	if _, ok := parsed.Header["crit"]; ok { // RFC 7515 4.1.11: what is not understood is refused
		return Claims{}, refused("the token's header has crit, which is not supported")
	}
	if err := checkTimes(&rc, now); err != nil {
		return Claims{}, err
	}
	user, err := presence.ParsePublicID(rc.Subject)
	if err != nil {
		return Claims{}, refused("the token's sub is not a user id: %v", err)
	}
	return Claims{User: user, Expires: rc.ExpiresAt.Time}, nil
}

// Issue returns a user token that holds from now for ttl.
func (a *Auth) Issue(user presence.PublicID, ttl time.Duration, now time.Time) (string, error) {
	if _, err := presence.ParsePublicID(string(user)); err != nil {
		return "", fmt.Errorf("issue a token: %w", err)
	}
	if ttl < time.Second || now.Add(ttl).After(latestExpiry) {
		return "", errors.New("issue a token: its time to live must be at least 1s and end before the year 10000")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject:   string(user),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	})
	signed, err := token.SignedString(a.secret)
	if err != nil {
		return "", fmt.Errorf("issue a token: %w", err)
	}
	return signed, nil
}

// explainParse turns the parser's error into a sentence that holds nothing of
// the token but the name of its algorithm, which is cut and quoted.
func explainParse(parsed *jwt.Token, err error) error {
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return refused("the token is not a JWT: three base64url parts with dots between them")
	case errors.Is(err, jwt.ErrTokenSignatureInvalid) && parsed != nil && parsed.Method != nil && parsed.Method.Alg() != jwt.SigningMethodHS256.Alg():
		return refused("the token is signed with %.10q; only HS256 is taken", parsed.Method.Alg())
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return refused("the token's signature does not match; it was signed with another secret or changed on the way")
	}
	return refused("the token cannot be verified; only JWTs signed with HS256 are taken")
}

// checkTimes applies RFC 7519 4.1.4 to 4.1.6 with tokenLeeway.
func checkTimes(rc *jwt.RegisteredClaims, now time.Time) error {
	switch {
	case rc.ExpiresAt == nil:
		return refused("the token has no exp; tokens must end")
	case rc.ExpiresAt.After(latestExpiry):
		return refused("the token's exp is after the year 9999; it must be unix seconds")
	case !now.Before(rc.ExpiresAt.Add(tokenLeeway)):
		return &tokenError{sentence: "the token's exp has passed; get a fresh one", expired: true}
	}
	if err := notBefore("nbf", rc.NotBefore, now); err != nil {
		return err
	}
	return notBefore("iat", rc.IssuedAt, now)
}

func notBefore(claim string, at *jwt.NumericDate, now time.Time) error {
	if at == nil {
		return nil
	}
	limit := now.Add(tokenLeeway)
	if !at.After(limit) {
		return nil
	}
	ahead := at.Sub(limit)
	// Rounded up, so that a part of a second does not read as 0 s.
	return refused("the token's %s is in the future by %d s beyond leeway; check the clock of its issuer", claim, int64((ahead-1)/time.Second+1))
}

// tokenError is why a token was refused, as a sentence for its owner.
type tokenError struct {
	sentence string
	expired  bool
}

func refused(format string, args ...any) error {
	return &tokenError{sentence: fmt.Sprintf(format, args...)}
}

func (e *tokenError) Error() string { return e.sentence }

func (e *tokenError) Is(target error) bool {
	return target == ErrUnauthorized || e.expired && target == ErrExpired
}
