package enrollment

import (
	"crypto/x509"
	"encoding/pem"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// NoCloud is the name of the cloud of machines that are in none.
const NoCloud = "none"

// Cloud is what a machine must prove that comes in by an invitation. One without a
// certificate proves nothing.
type Cloud struct {
	Name string `json:"name"`
	// Certificate is the cloud's, in PEM: its key signs documents with RSA and
	// SHA-256.
	Certificate string `json:"certificate,omitempty"`
	Account     string `json:"account,omitempty"`
	Instance    string `json:"instance,omitempty"` // any of the account, if it is not given
}

func (c Cloud) check() error {
	if c.Certificate == "" {
		if c.Account != "" || c.Instance != "" {
			return problem.New(problem.Usage, "cloud", "An account or an instance is proved by a document, for which the cloud's certificate is needed. Nobody was invited.")
		}
		return nil
	}
	if c.Account == "" || c.Name == NoCloud {
		return problem.New(problem.Usage, "cloud", "A cloud's certificate is good for every customer of that cloud: its name and your account must be given too. Nobody was invited.")
	}
	_, err := c.certificate()
	return err
}

func (c Cloud) certificate() (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, problem.New(problem.Usage, "cloud", "The cloud's certificate is no CERTIFICATE in PEM. Nobody was invited.")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || cert.PublicKeyAlgorithm != x509.RSA {
		return nil, problem.New(problem.Usage, "cloud", "The cloud's certificate cannot be read, or has no RSA key. Nobody was invited.").Because(err)
	}
	return cert, nil
}

// Document is what a cloud says of a machine, and its signature.
type Document struct {
	Text      []byte `json:"text"`
	Signature []byte `json:"signature"`
}

// maxDocument is the most bytes of a document, and of its signature.
const maxDocument = 64 << 10

// small says whether d, which may be none, is no larger than a document can be.
func (d *Document) small() bool {
	return d == nil || len(d.Text) <= maxDocument && len(d.Signature) <= maxDocument
}

// machine is what is read of a document; clouds put more into it.
type machine struct {
	Instance string `json:"instanceId"`
	Account  string `json:"accountId"`
	Region   string `json:"region"`
}

// verify says whether a document is one that the invitation asks for.
func (c Cloud) verify(d *Document, region string) error {
	if c.Certificate == "" {
		if d != nil {
			return problem.Refusal("cloud-document", "The invitation asks for no document of a cloud, and one was given.")
		}
		return nil
	}
	if d == nil {
		return problem.Refusal("cloud-document", "The invitation is for a machine of %s, which proves it by a document. None was given.", c.Name)
	}
	cert, err := c.certificate()
	if err != nil {
		return err
	}
	if err := cert.CheckSignature(x509.SHA256WithRSA, d.Text, d.Signature); err != nil {
		return problem.Refusal("cloud-document", "The document is not signed by %s.", c.Name).Because(err)
	}
	var m machine
	if err := canon.DecodeOpen(d.Text, &m); err != nil {
		return problem.Refusal("cloud-document", "The document cannot be read.").Because(err)
	}
	switch {
	case m.Instance == "":
		return problem.Refusal("cloud-document", "The document names no machine.")
	case m.Account != c.Account:
		return problem.Refusal("cloud-account", "The machine is one of the account %q, and the invitation is for %q.", m.Account, c.Account)
	case m.Region != region:
		return problem.Refusal("cloud-region", "The machine stands in %q, and the invitation is for %q.", m.Region, region)
	case c.Instance != "" && m.Instance != c.Instance:
		return problem.Refusal("cloud-instance", "The machine is %q, and the invitation is for %q.", m.Instance, c.Instance)
	}
	return nil
}
