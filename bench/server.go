package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a program that answers HTTP, and its processes.
type server struct {
	cmd *exec.Cmd
	url string
}

// desk starts a desk on a home.
func (l *lab) desk(home string) (*server, error) {
	cmd := exec.Command(l.holdfast, "--home", home, "up", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	url, ok := strings.CutPrefix(lines.Text(), "holdfast: listening on ")
	if !ok {
		return nil, fmt.Errorf("the desk said %q", lines.Text())
	}
	return &server{cmd, url}, nil
}

const nginxConf = `daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 64; }
http {
  access_log %[1]s/access.log;
  sendfile on;
  client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
  server { listen 127.0.0.1:%[2]d; root %[3]s; }
}
`

// nginx serves a folder.
func (l *lab) nginx(root string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(l.dir, "nginx")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, port, root), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("nginx", "-p", dir, "-c", conf)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd, fmt.Sprintf("http://127.0.0.1:%d", port)}
	return s, s.await()
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) await() error {
	addr := strings.TrimPrefix(s.url, "http://")
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("nothing listens at %s", addr)
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// get reads an answer to its end and gives its length.
func (s *server) get(path string) (int64, error) {
	res, err := http.Get(s.url + path)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answered %s", path, res.Status)
	}
	return io.Copy(io.Discard, res.Body)
}

// cpu is the processor time, in seconds, of the server's process and its
// children so far. The kernel counts it in hundredths.
func (s *server) cpu() (float64, error) {
	pids := []string{strconv.Itoa(s.cmd.Process.Pid)}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pids[0], pids[0]))
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, pid := range append(pids, strings.Fields(string(children))...) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return 0, err
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:13] { // utime, stime
			ticks, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return 0, err
			}
			total += ticks / 100
		}
	}
	return total, nil
}
