package resources

import "strings"

// secrets are names, in lower case, under which keys and passwords are kept; "*" stands for anything.
var secrets = compileSecrets(
	// environments and tool configuration with tokens in it
	".env*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".dockercfg",
	".dockerconfigjson", ".vault-token", ".s3cfg", ".boto",
	// the directories such tools keep
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
	// private keys
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.ppk", "*.p8",
	// key stores and password databases
	"*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.keystore", "*.kdb", "*.kdbx",
	// cloud credentials
	"credentials*.json", "client_secret*.json",
)

// Which of the patterns can match is told by the first byte of a name, or else, of those that begin with "*", by the last.
var secretsByFirst, secretsByLast = sortSecrets(secrets)

func sortSecrets(all []secret) (byFirst, byLast [256][]*secret) {
	for i := range all {
		s := &all[i]
		if s.prefix != "" {
			byFirst[s.prefix[0]] = append(byFirst[s.prefix[0]], s)
		} else {
			last := s.suffix[len(s.suffix)-1]
			byLast[last] = append(byLast[last], s)
		}
	}
	return byFirst, byLast
}

type secret struct {
	text           string
	prefix, suffix string
	open           bool // anything may stand between them
}

func compileSecrets(patterns ...string) []secret {
	out := make([]secret, len(patterns))
	for i, p := range patterns {
		out[i].text = p
		out[i].prefix, out[i].suffix, out[i].open = strings.Cut(p, "*")
	}
	return out
}

// secretName returns the pattern by which name is a credential's, "" if it is none. Case does not count: on a folding disk
// ID_RSA is id_rsa.
func secretName(name string) string {
	name = strings.ToLower(name)
	if name == "" {
		return ""
	}
	for _, candidates := range [...][]*secret{secretsByFirst[name[0]], secretsByLast[name[len(name)-1]]} {
		for _, s := range candidates {
			if s.matches(name) {
				return s.text
			}
		}
	}
	return ""
}

func (s *secret) matches(name string) bool {
	if !s.open {
		return name == s.text
	}
	return len(name) >= len(s.prefix)+len(s.suffix) && strings.HasPrefix(name, s.prefix) && strings.HasSuffix(name, s.suffix)
}
