package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"holdfast/internal/problem"

	"golang.org/x/sys/unix"
)

// Limits on what a client may keep waiting for. There is none on the whole of
// a request or a response: see patience.
const (
	headerPatience = 10 * time.Second
	idlePatience   = 2 * time.Minute
	maxHeader      = 64 << 10
)

// DefaultGrace is how long requests under way may take to end.
const DefaultGrace = 10 * time.Second

// ServeConfig is how [Serve] serves. Its zero value is ready.
type ServeConfig struct {
	Grace time.Duration // DefaultGrace where it is 0
	Log   *slog.Logger  // the default logger where it is nil
}

// Serve answers on ln until ctx is done, and closes ln. Then no new request is
// taken, whatever watches [Stopping] ends, and everything else has the grace
// to end. An error says that the server broke, or that requests were cut.
func Serve(ctx context.Context, ln net.Listener, handler http.Handler, c ServeConfig) error {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	stopping := make(chan struct{})
	// Requests under way outlive ctx: they have the grace.
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, (<-chan struct{})(stopping))
	server := &http.Server{
		Handler:                      handler,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerPatience,
		IdleTimeout:                  idlePatience,
		MaxHeaderBytes:               maxHeader,
		ErrorLog:                     slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		close(stopping)
		server.Close()
		return problem.New(problem.Failed, "serve", "The server stopped taking requests.").Because(err)
	case <-ctx.Done():
	}
	close(stopping)
	err := shutdown(server, c.Grace)
	<-served
	return err
}

func shutdown(server *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	// Their contexts are cancelled with their connections.
	return problem.New(problem.Failed, "shutdown", "Some requests had not ended after %v and were cut.", grace).
		Because(errors.Join(err, server.Close()))
}

type stoppingKey struct{}

// Stopping is closed when the server that r's context comes from begins to
// stop. Whatever waits without an end of its own (a stream, a long poll) ends
// on it. Outside of [Serve] it is nil, and never closed.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// Listen takes the address for the server. Its refusals are at the step
// "listen".
func Listen(addr string) (net.Listener, error) {
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return nil, problem.New(problem.Usage, "listen", "%q is no address to listen on: it takes a host and a port.", addr).
			WithHint("for example: --listen 127.0.0.1:7433, or port 0 for any free one").Because(err)
	}
	ln, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, unix.EADDRINUSE):
		return nil, problem.Refusal("listen", "Another program is listening on %s already.", addr).
			WithHint("end that program, or pick another address with --listen").Because(err)
	case errors.Is(err, unix.EACCES):
		return nil, problem.Refusal("listen", "The system does not let this user listen on %s.", addr).
			WithHint("pick a port from 1024 on with --listen").Because(err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return nil, problem.Refusal("listen", "%s is no address of this machine.", addr).
			WithHint("pick one that is, with --listen").Because(err)
	default:
		return nil, problem.Refusal("listen", "Nothing can listen on %q: the address cannot be used.", addr).
			WithHint("pick another with --listen").Because(err)
	}
}

// IsLoopback says whether only this machine can reach the address. A name
// other than localhost is not looked up, and is not.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
