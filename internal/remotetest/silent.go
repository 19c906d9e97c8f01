package remotetest

import (
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Silent is the host and port of something that takes calls and never says a
// word. The channel is closed when the first call has come.
func Silent(t testing.TB) (address string, called <-chan struct{}) {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() { listen(port, first) })
	t.Cleanup(func() {
		port.Close()
		serving.Wait()
	})
	return port.Addr().String(), first
}

// listen takes calls until port is closed, and hangs up on all of them then.
func listen(port net.Listener, first chan<- struct{}) {
	var tell sync.Once
	for {
		caller, err := port.Accept()
		if err != nil {
			return
		}
		defer caller.Close()
		tell.Do(func() { close(first) })
	}
}

// Dead is the host and port of nobody: a call is refused at once. The port is
// taken until the test ends, so that no one else comes to listen there.
func Dead(t testing.TB) (address string) {
	t.Helper()
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strconv.Itoa(bound.(*syscall.SockaddrInet4).Port)
}
