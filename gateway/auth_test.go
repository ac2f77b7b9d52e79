package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

const (
	testSecret = "0123456789abcdef0123456789abcdef"
	testKey    = "operator-key-0001"
)

var testNow = time.Unix(1_800_000_000, 0)

func testAuth(t testing.TB) *Auth {
	t.Helper()
	a, err := NewAuth(AuthConfig{HS256Secret: testSecret, APIKeys: []string{testKey, "another-operator-key-2"}})
	require.NoError(t, err)
	return a
}

// sign makes a token with any claims.
func sign(t testing.TB, method jwt.SigningMethod, key any, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	for k, v := range header {
		token.Header[k] = v
	}
	s, err := token.SignedString(key)
	require.NoError(t, err)
	return s
}

func claims(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "ann", "exp": testNow.Add(time.Hour).Unix()}
	for k, v := range changes {
		if v == nil {
			delete(c, k)
			continue
		}
		c[k] = v
	}
	return c
}

func TestHT4_UserTokens(t *testing.T) {
	at := func(d time.Duration) int64 { return testNow.Add(d).Unix() }
	tests := []struct {
		name   string
		claims jwt.MapClaims
		fails  string // part of the sentence; "" = accepted
	}{
		{"plain", nil, ""},
		{"expired within leeway", jwt.MapClaims{"exp": at(-59 * time.Second)}, ""},
		{"expired at the end of leeway", jwt.MapClaims{"exp": at(-60 * time.Second)}, "exp has passed; get a fresh one"},
		{"expired in 1970", jwt.MapClaims{"exp": 0}, "exp has passed"},
		{"no exp", jwt.MapClaims{"exp": nil}, "no exp"},
		{"exp null", jwt.MapClaims{"exp": []any(nil)}, "no exp"},
		{"exp as text", jwt.MapClaims{"exp": "soon"}, "not a JWT"},
		{"exp in milliseconds", jwt.MapClaims{"exp": at(time.Hour) * 1000}, "unix seconds"},
		{"exp beyond int64", jwt.MapClaims{"exp": 1e300}, "exp"},
		{"nbf 45 s ahead", jwt.MapClaims{"nbf": at(45 * time.Second)}, ""},
		{"nbf 60 s ahead", jwt.MapClaims{"nbf": at(60 * time.Second)}, ""},
		{"nbf 180 s ahead", jwt.MapClaims{"nbf": at(180 * time.Second)}, "nbf is in the future by 120 s beyond leeway"},
		{"nbf long ago", jwt.MapClaims{"nbf": -1e15}, ""},
		{"iat 180 s ahead", jwt.MapClaims{"iat": at(180 * time.Second)}, "iat is in the future by 120 s beyond leeway"},
		{"no sub", jwt.MapClaims{"sub": nil}, "sub is not a user id"},
		{"empty sub", jwt.MapClaims{"sub": ""}, "sub is not a user id"},
		{"sub with a slash", jwt.MapClaims{"sub": "a/b"}, "sub is not a user id"},
		{"sub with a newline", jwt.MapClaims{"sub": "a\nb"}, "sub is not a user id"},
		{"sub too long", jwt.MapClaims{"sub": strings.Repeat("a", 65)}, "sub is not a user id"},
		{"sub as number", jwt.MapClaims{"sub": 7}, "not a JWT"},
	}
	a := testAuth(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			token := sign(t, jwt.SigningMethodHS256, []byte(testSecret), claims(tt.claims), nil)
			got, err := a.User(token, testNow)
			if tt.fails == "" {
				require.NoError(t, err)
				require.EqualValues(t, "ann", got.User)
				require.Equal(t, claims(tt.claims)["exp"], got.Expires.Unix())
				return
			}
			require.ErrorIs(t, err, ErrUnauthorized)
			require.ErrorContains(t, err, tt.fails)
			require.Zero(t, got)
			require.Equal(t, strings.Contains(err.Error(), "has passed"), errors.Is(err, ErrExpired))
		})
	}
}

func TestHT4_ForgedTokens(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := sign(t, jwt.SigningMethodHS256, []byte(testSecret), claims(nil), nil)
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString

	tests := []struct{ name, token, fails string }{
		{"none", sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil), nil), "only HS256"},
		{"none in capitals", b64([]byte(`{"alg":"None","typ":"JWT"}`)) + "." + parts[1] + ".", "only JWTs signed with HS256"},
		{"HS512 with the right secret", sign(t, jwt.SigningMethodHS512, []byte(testSecret), claims(nil), nil), `signed with "HS512"`},
		{"RS256", sign(t, jwt.SigningMethodRS256, rsaKey, claims(nil), nil), `signed with "RS256"`},
		{"HS256 with a public key as secret", sign(t, jwt.SigningMethodHS256, public, claims(nil), nil), "signature does not match"},
		{"foreign secret", sign(t, jwt.SigningMethodHS256, []byte("fedcba9876543210fedcba9876543210"), claims(nil), nil), "signature does not match"},
		{"empty secret", sign(t, jwt.SigningMethodHS256, []byte{}, claims(nil), nil), "signature does not match"},
		{"no signature", parts[0] + "." + parts[1] + ".", "signature does not match"},
		{"two parts", parts[0] + "." + parts[1], "not a JWT"},
		{"four parts", good + ".x", "not a JWT"},
		{"truncated", good[:len(good)-3], "signature does not match"},
		{"padded", good + "=", "not a JWT"},
		{"another body", parts[0] + "." + b64([]byte(`{"sub":"eve","exp":1900000000}`)) + "." + parts[2], "signature does not match"},
		{"crit", sign(t, jwt.SigningMethodHS256, []byte(testSecret), claims(nil), map[string]any{"crit": []string{"exp"}}), "crit"},
		{"key from the header", sign(t, jwt.SigningMethodHS256, []byte("attacker"), claims(nil), map[string]any{"jwk": map[string]string{"kty": "oct", "k": b64([]byte("attacker"))}}), "signature does not match"},
		{"huge", strings.Repeat("a", MaxTokenBytes+1), "longer than 8192"},
		{"empty", "", "no token"},
		{"not base64", "a b.c d.e f", "not a JWT"},
		{"bytes", "\x00\xff.\x00.\x00", "not a JWT"},
	}
	a := testAuth(t)
	_, err = a.User(good, testNow)
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := a.User(tt.token, testNow)
			require.ErrorIs(t, err, ErrUnauthorized)
			require.NotErrorIs(t, err, ErrExpired)
			require.ErrorContains(t, err, tt.fails)
			require.Zero(t, got)
		})
	}
}

func TestIssue(t *testing.T) {
	a := testAuth(t)
	token, err := a.Issue("ann@example.org", 24*time.Hour, testNow)
	require.NoError(t, err)
	got, err := a.User(token, testNow)
	require.NoError(t, err)
	require.Equal(t, Claims{User: "ann@example.org", Expires: testNow.Add(24 * time.Hour)}, got)
	_, err = a.User(token, testNow.Add(25*time.Hour))
	require.ErrorIs(t, err, ErrExpired)

	_, err = a.Issue("a b", time.Hour, testNow)
	require.ErrorContains(t, err, "user id")
	for _, ttl := range []time.Duration{0, -time.Hour, time.Second - 1} {
		_, err = a.Issue("ann", ttl, testNow)
		require.ErrorContains(t, err, "time to live")
	}
}

func TestNewAuthRefusesWeakSecrets(t *testing.T) {
	_, err := NewAuth(AuthConfig{HS256Secret: "short", APIKeys: []string{"", "short", testKey}})
	require.ErrorContains(t, err, "auth.hs256_secret has 5 bytes and needs at least 32")
	require.ErrorContains(t, err, "auth.api_keys[0]")
	require.ErrorContains(t, err, "auth.api_keys[1]")
	require.NotContains(t, err.Error(), "short", "a fault must not print a secret")
	_, err = NewAuth(AuthConfig{})
	require.ErrorContains(t, err, "auth.hs256_secret has 0 bytes")

	_, err = NewAuth(AuthConfig{HS256Secret: "short", APIKeys: []string{"k"}, Dev: true})
	require.NoError(t, err)
	_, err = NewAuth(AuthConfig{APIKeys: []string{""}, Dev: true})
	require.Error(t, err, "an empty key would let everybody in, also in dev")
}

func TestDevWithoutSecretMakesOneUp(t *testing.T) {
	a, err := NewAuth(AuthConfig{Dev: true})
	require.NoError(t, err)
	b, err := NewAuth(AuthConfig{Dev: true})
	require.NoError(t, err)
	token, err := a.Issue("ann", time.Hour, testNow)
	require.NoError(t, err)
	_, err = a.User(token, testNow)
	require.NoError(t, err)
	_, err = b.User(token, testNow)
	require.ErrorIs(t, err, ErrUnauthorized)
	empty := sign(t, jwt.SigningMethodHS256, []byte{}, claims(nil), nil)
	_, err = a.User(empty, testNow)
	require.ErrorIs(t, err, ErrUnauthorized)
}

func TestHT4_APIKeys(t *testing.T) {
	a := testAuth(t)
	require.True(t, a.APIKey(testKey))
	require.True(t, a.APIKey("another-operator-key-2"))
	for _, key := range []string{"", "x", testKey + " ", testKey[:len(testKey)-1], strings.ToUpper(testKey), testSecret, strings.Repeat("k", 1<<16)} {
		require.False(t, a.APIKey(key))
	}
	none, err := NewAuth(AuthConfig{HS256Secret: testSecret})
	require.NoError(t, err)
	require.False(t, none.APIKey(""))
	same, err := NewAuth(AuthConfig{HS256Secret: testSecret, APIKeys: []string{testKey, testKey}})
	require.NoError(t, err)
	require.True(t, same.APIKey(testKey), "a key given twice still counts")
}

func FuzzUserToken(f *testing.F) {
	a := testAuth(f)
	good, err := a.Issue("ann", time.Hour, testNow)
	require.NoError(f, err)
	f.Add(good)
	f.Add("")
	f.Add("..")
	f.Add(good[:40])
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Fuzz(func(t *testing.T, token string) {
		got, err := a.User(token, testNow)
		if err != nil {
			require.ErrorIs(t, err, ErrUnauthorized)
			require.Zero(t, got)
			return
		}
		// Nobody but Issue has the secret, so only what it signed may pass.
		require.Equal(t, good, token)
	})
}
