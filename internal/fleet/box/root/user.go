package root

import (
	"os"
	"os/user"
	"strconv"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/problem"
)

// lookUser is the user that work runs as, nil for the one that root runs as.
func lookUser(name string) (*shim.User, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return nil, problem.Refusal("box-user", "There is no user %q, which work is to run as on this box. Nothing was started.", name).Because(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if int(uid) == os.Geteuid() {
		return nil, nil
	}
	return &shim.User{UID: uint32(uid), GID: uint32(gid)}, nil
}

// asRoot refuses to run work as uid 0, unless the box's configuration allows it.
func asRoot(c Config) *intent.Denied {
	who, err := lookUser(c.User)
	switch {
	case err != nil:
		return &intent.Denied{Step: "box-user", Reason: problem.Words(err)}
	case c.AllowRoot || who != nil && who.UID != 0 || who == nil && os.Geteuid() != 0:
		return nil
	}
	return &intent.Denied{Step: "uid-0", Reason: "Work would run as root on this box. Nothing was started. To say who it runs as, set box.user in the box's holdfast.toml, or allow it by box.allow_root = true."}
}
