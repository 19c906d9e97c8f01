package git

import "fmt"

// passed is what a git process gets of our environment: who and where its user is,
// ssh and its agent, what asks for a password without a terminal (a program on the
// desktop, the keeper of its secrets), proxies, certificates.
var passed = []string{
	"HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
}

// given is what it gets beside those. The language is one that the words git says
// can be compared in.
var given = []string{
	"LC_ALL=C", "LANGUAGE=",
	"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ATTR_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_EDITOR=false",
	"GIT_AUTHOR_NAME=" + identityName, "GIT_AUTHOR_EMAIL=" + identityEmail,
	"GIT_COMMITTER_NAME=" + identityName, "GIT_COMMITTER_EMAIL=" + identityEmail,
}

// Who a commit is by. Who did what is said inside of it, not here.
const (
	identityName  = "Holdfast"
	identityEmail = "holdfast@localhost"
)

// overruled is the settings that a user's configuration may not change. Git takes
// them out of the environment of what runs for a remote, even one that is a path.
var overruled = [][2]string{
	// Nothing of the user's runs here, and nothing of ours goes to a hook.
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	// What is written is what was asked for.
	{"commit.gpgSign", "false"},
	{"tag.gpgSign", "false"},
	{"push.gpgSign", "false"},
	{"push.followTags", "false"},
	{"push.recurseSubmodules", "no"},
	{"push.useForceIfIncludes", "false"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "no"},
	{"fetch.prune", "false"},
	{"fetch.pruneTags", "false"},
	{"core.autocrlf", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.logAllRefUpdates", "false"},
	{"core.sharedRepository", "umask"},
	{"worktree.guessRemote", "false"},
	// Maintenance is somebody's decision, under a lock.
	{"gc.auto", "0"},
	{"gc.worktreePruneExpire", "never"},
	{"maintenance.auto", "false"},
	{"fetch.writeCommitGraph", "false"},
	{"fetch.unpackLimit", "100"},
	{"fastimport.unpackLimit", "100"},
	// An object, its pack and index, and a ref are on the disk before git says so.
	// What can be made again from those (commit graph, reverse index) is not waited for.
	{"core.fsync", "loose-object,pack,pack-metadata,reference,-commit-graph"},
	{"core.fsyncMethod", "fsync"},
	// What git says can be read.
	{"color.ui", "false"},
	{"color.push", "false"},
	{"color.remote", "false"},
	{"color.transport", "false"},
	{"color.advice", "false"},
	{"advice.pushUpdateRejected", "false"},
	{"core.quotePath", "true"},
}

// environment is all that a git process is told, by way of lookup.
func environment(lookup func(string) (string, bool)) []string {
	env := make([]string, 0, len(passed)+len(given)+2*len(overruled)+1)
	for _, name := range passed {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, given...)
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(overruled)))
	for i, s := range overruled {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
