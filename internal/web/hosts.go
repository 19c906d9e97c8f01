package web

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"holdfast/internal/problem"
)

// Hosts is the list of names under which the server may be reached. A page of
// another site that has its own name resolve to our address (DNS rebinding)
// is same-origin to itself, and only the name gives it away.
type Hosts struct {
	port     string          // that the server listens on
	exact    map[string]bool // host:port
	anyPort  map[string]bool // host alone
	literals bool            // any IP address with the port
	origins  http.CrossOriginProtection
}

// NewHosts lists the address listened on, the names of this machine itself
// where it can be reached by them, the configured names (each with or without
// a port; without one, every port is meant), and the host of the external
// address, such as "https://desk.example/desk/", where there is one.
func NewHosts(listening net.Addr, configured []string, external *url.URL) (*Hosts, error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return nil, problem.New(problem.Usage, "listen", "%q is no address with a port.", listening.String())
	}
	h := &Hosts{port: port, exact: map[string]bool{}, anyPort: map[string]bool{}}
	h.exact[canonicalHost(host, port)] = true
	ip, _ := netip.ParseAddr(host)
	if ip.IsLoopback() || ip.IsUnspecified() {
		for _, own := range []string{"localhost", "127.0.0.1", "::1"} {
			h.exact[canonicalHost(own, port)] = true
		}
	}
	// Listening everywhere, the addresses come and go. A page that was reached
	// by an IP address has that address as its origin: no name, no rebinding.
	h.literals = ip.IsUnspecified()
	for _, name := range configured {
		if err := h.add(name); err != nil {
			return nil, err
		}
	}
	if external != nil {
		return h, h.addExternal(external)
	}
	return h, nil
}

func (h *Hosts) add(name string) error {
	host, port, ok := splitHost(name)
	if !ok {
		return problem.New(problem.Usage, "hosts", "%q is no host name, with or without a port.", name).
			WithHint("set hosts in holdfast.toml to names such as desk.example or desk.example:8443")
	}
	if port == "" {
		h.anyPort[strings.ToLower(host)] = true
	} else {
		h.exact[canonicalHost(host, port)] = true
	}
	return nil
}

// addExternal trusts one origin exactly: a proxy may send its own name as Host
// and the browser's origin beside it.
func (h *Hosts) addExternal(external *url.URL) error {
	bad := problem.New(problem.Usage, "external", "%q is no address such as https://desk.example/desk/.", external.Redacted())
	if external.Scheme != "http" && external.Scheme != "https" || external.Host == "" || external.User != nil {
		return bad
	}
	usual := defaultPort(external.Scheme == "https")
	host := canonicalHost(external.Hostname(), cmp.Or(external.Port(), usual))
	h.exact[host] = true
	if err := h.origins.AddTrustedOrigin(external.Scheme + "://" + strings.TrimSuffix(host, ":"+usual)); err != nil {
		return bad.Because(err)
	}
	return nil
}

// checkHost refuses a request for a name that is not ours.
func (h *Hosts) checkHost(r *http.Request) error {
	host, port, ok := splitHost(r.Host)
	if ok && h.known(strings.ToLower(host), port, r.TLS != nil) {
		return nil
	}
	return problem.Refusal(problem.StepHost, "This server does not answer to the host %+q. Nothing was done.", r.Host).
		WithHint("if the name is yours, add it to hosts in holdfast.toml")
}

func (h *Hosts) known(host, port string, tls bool) bool {
	if h.anyPort[host] {
		return true
	}
	if port != "" {
		return h.knownAt(host, port)
	}
	// No port means the scheme's own, and whether a proxy speaks TLS is not told.
	return h.knownAt(host, defaultPort(tls)) || h.exact[canonicalHost(host, defaultPort(true))]
}

func (h *Hosts) knownAt(host, port string) bool {
	if h.exact[canonicalHost(host, port)] {
		return true
	}
	_, err := netip.ParseAddr(host)
	return h.literals && err == nil && port == h.port
}

// checkOrigin refuses a write that another site's page began. What came out of
// a booth runs with the origin "null", so that is refused whatever else the
// request says of itself.
func (h *Hosts) checkOrigin(r *http.Request) error {
	refused := problem.Refusal(problem.StepOrigin, "A page of another site began this. Nothing was changed.").
		WithHint("open the desk itself and do it there")
	if !safeMethod(r.Method) {
		for _, origin := range r.Header.Values("Origin") {
			if strings.EqualFold(strings.TrimSpace(origin), "null") {
				return refused
			}
		}
	}
	if err := h.origins.Check(r); err != nil {
		return refused.Because(err)
	}
	return nil
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func defaultPort(tls bool) string {
	if tls {
		return "443"
	}
	return "80"
}

func canonicalHost(host, port string) string {
	return net.JoinHostPort(strings.ToLower(host), port)
}

// splitHost reads "host", "host:port", "[::1]" or "[::1]:port".
func splitHost(text string) (host, port string, ok bool) {
	if inner, found := strings.CutSuffix(text, "]"); found {
		inner, found = strings.CutPrefix(inner, "[")
		return inner, "", found && isIPv6(inner)
	}
	if !strings.Contains(text, ":") {
		return text, "", isHostName(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return "", "", false
	}
	if strings.HasPrefix(text, "[") {
		return host, port, isIPv6(host)
	}
	return host, port, isHostName(host)
}

func isIPv6(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Is6() && ip.Zone() == ""
}

func isHostName(text string) bool {
	return text != "" && strings.Trim(text, baseBytes) == ""
}
