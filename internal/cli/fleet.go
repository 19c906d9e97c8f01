package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

func (r *run) fleet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "The boxes: machines of your own that work may run on",
		Long: `The boxes: machines of your own that work may run on.

The list of them is the roster: one signed object in a store that all of them reach; in
the home itself, or in S3. A home that may write it is a console. Begin with
"holdfast fleet init".`,
	}
	cmd.AddCommand(
		r.fleetInit(), r.fleetInvite(), r.fleetBoxes(), r.fleetShow(), r.fleetExplain(),
		r.fleetQuarantine(), r.fleetReadmit(), r.fleetRetire(),
		r.fleetRole(), r.fleetGroup(), r.fleetLabel(), r.fleetRegion(),
		r.fleetFloor(), r.fleetHolds(), r.fleetActivations(),
		r.fleetLog(), r.fleetRestore(), r.fleetConsole(),
	)
	return cmd
}

// console opens the console of the home that this invocation means.
func (r *run) console() (*fleet.Console, error) {
	c, err := r.here("fleet")
	if err != nil {
		return nil, err
	}
	return app.OpenConsole(c)
}

// asConsole asks the console of this home for a document, and shows it.
func asConsole[T any](r *run, ask func(*fleet.Console) (T, error), show func(T)) error {
	console, err := r.console()
	if err != nil {
		return err
	}
	defer console.Close()
	doc, err := ask(console)
	if err != nil {
		return err
	}
	return shown(r, doc, show)
}

// shown shows a document.
func shown[T any](r *run, doc T, show func(T)) error {
	if r.json {
		return r.document(doc)
	}
	show(doc)
	return nil
}

// boxNames completes the name of a box, where it is the first argument.
func (r *run) boxNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	r.flags = cmd.Flags()
	console, err := r.console()
	if err != nil {
		return nil, none
	}
	defer console.Close()
	list, err := console.Boxes(cmd.Context())
	if err != nil {
		return nil, none
	}
	var names []string
	for _, b := range list.Boxes {
		names = append(names, b.BoxID+"\t"+b.State)
	}
	return names, none
}

func (r *run) fleetInit() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Begin a fleet: make this home its first console",
		Long: `Begin a fleet: make this home its first console.

The store is tried before anything is built on it. Without --store it is kept in the home
itself, which other homes on this machine can reach. The root key is made here, and stays
here: back it up. What was begun and cut off is gone on with by saying it again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := operatorOnly("begin a fleet"); err != nil {
				return err
			}
			if cmd.Flags().Changed("store") && strings.TrimSpace(store) == "" {
				return usage(cmd, "--store is empty: give the address of a store, or leave it out")
			}
			c, err := r.here("fleet")
			if err != nil {
				return err
			}
			b, err := app.InitFleet(cmd.Context(), c, store)
			if err != nil {
				return err
			}
			return shown(r, b, func(b fleet.Begun) {
				where := "in the home itself"
				if b.Store != fleet.Embedded {
					where = "at " + plain.Text(b.Store)
				}
				fmt.Fprintf(r.out, "a fleet was begun, kept %s\n", where)
				fmt.Fprintf(r.out, "this home is its console %s, and has its root key: back up %s\n", plain.Text(b.Console), plain.Text(c.Console()))
				fmt.Fprintln(r.out, "next: holdfast fleet invite BOX")
				fmt.Fprintln(r.out, "then, on the machine that is to be it (this one may be): holdfast box join WORD, and holdfast up")
				fmt.Fprintln(r.out, "then, here: holdfast run NAME -- COMMAND")
			})
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "where it is kept: file:///PATH or s3://BUCKET/PREFIX?endpoint=URL&region=NAME (default: in the home itself)")
	return cmd
}

// inviting is the flags of invite.
type inviting struct {
	auto                              bool
	max                               int
	region, pool, role, group, label  string
	cloud, certificate, account, inst string
	good                              time.Duration
}

func (r *run) fleetInvite() *cobra.Command {
	var f inviting
	cmd := &cobra.Command{
		Use:   "invite BOX",
		Short: "Invite a machine to come in as a box",
		Long: `Invite a machine to come in as a box. It prints a word; the machine comes in with it, by
"holdfast box join WORD", while a console answers: "holdfast up" does.

With --auto the boxes name themselves: BOX, a hyphen and eight digits; --max says how many
may come in by the one word. With --certificate a machine has to prove by a document of
its cloud that it is one of your account.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("invite boxes"); err != nil {
				return err
			}
			i, err := f.invitation(cmd, args[0])
			if err != nil {
				return err
			}
			return asConsole(r, func(c *fleet.Console) (fleet.Invited, error) {
				return c.Invite(cmd.Context(), i, f.good)
			}, func(i fleet.Invited) { r.printInvited(i, f.auto) })
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.auto, "auto", false, "the boxes name themselves, and BOX is what the names begin with")
	fs.IntVar(&f.max, "max", 1, "how many boxes may come in; more than one needs --auto")
	fs.DurationVar(&f.good, "for", 24*time.Hour, "how long the invitation is good")
	fs.StringVar(&f.region, "region", "", "region that the box stands in (default: the home region)")
	fs.StringVar(&f.pool, "pool", "", "pool that it belongs to (default: default)")
	fs.StringVar(&f.role, "role", "", "what work it is for")
	fs.StringVar(&f.group, "group", "", "group that it is in")
	fs.StringVar(&f.label, "label", "", "what people call it")
	fs.StringVar(&f.cloud, "cloud", "", "name of the cloud that it is a machine of")
	fs.StringVar(&f.certificate, "certificate", "", "file with that cloud's certificate, in PEM: the machine has to prove itself by a document")
	fs.StringVar(&f.account, "account", "", "account that the document must name")
	fs.StringVar(&f.inst, "instance", "", "machine that the document must name (default: any of the account)")
	return cmd
}

// invitation is what the flags say of one.
func (f inviting) invitation(cmd *cobra.Command, box string) (enrollment.Invitation, error) {
	i := enrollment.Invitation{
		Box: box, Auto: f.auto, Uses: f.max, Region: f.region, Pool: f.pool, Role: f.role, Group: f.group, Label: f.label,
		Cloud: enrollment.Cloud{Name: f.cloud, Account: f.account, Instance: f.inst},
	}
	if f.good <= 0 {
		return i, usage(cmd, "an invitation is good for longer than nothing")
	}
	if f.certificate == "" {
		return i, nil
	}
	text, err := readSmall("certificate", f.certificate)
	i.Cloud.Certificate = string(text)
	return i, err
}

func (r *run) printInvited(i fleet.Invited, auto bool) {
	who := "box " + plain.Text(i.Box)
	if auto {
		who = plain.Count(i.Uses, "box")
		if i.Uses != 1 {
			who = fmt.Sprintf("%d boxes", i.Uses)
		}
		who += " called " + plain.Text(i.Box) + "-…"
	}
	fmt.Fprintf(r.out, "invited: %s, until %s\non the machine that is to come in, say:\n\n", who, at(i.ExpiresAt))
	fmt.Fprintf(r.out, "holdfast box join %s\n\n", i.Token)
	fmt.Fprintln(r.out, "the word is a secret until it is used; a console answers while holdfast up runs in its home")
}

// smallFile is the most that a file which a command reads whole may hold, in bytes.
const smallFile = 64 << 10

// readSmall reads a file that somebody named.
func readSmall(what, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, smallFile+1)); err == nil && len(data) <= smallFile {
			return data, nil
		}
	}
	if err != nil {
		return nil, problem.Refusal("read", "The %s in %s cannot be read (%s). Nothing was changed.", what, plain.Text(path), problem.Words(err)).Because(err)
	}
	return nil, problem.Refusal(problem.StepTooLarge, "The %s in %s holds more than %d bytes, which is the most. Nothing was changed.", what, plain.Text(path), smallFile)
}

// word is a word that somebody was given: an argument, or - for stdin, so that it
// does not have to stand on a command line.
func (r *run) word(what, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.in, smallFile))
	if err != nil {
		return "", problem.Refusal("stdin", "The %s cannot be read from stdin. Nothing was changed.", what).Because(err)
	}
	return strings.TrimSpace(string(data)), nil
}

func (r *run) fleetConsole() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Further consoles: homes that may write the roster",
		Long: `Further consoles: homes that may write the roster. The new home says its key
("console key"), the home with the root key enrolls it ("console enroll NAME KEY"), and
the new home joins with the word that this prints ("console join WORD"). No secret goes
from one to the other.`,
	}
	cmd.AddCommand(r.consoleKey(), r.consoleEnroll(), r.consoleJoin())
	return cmd
}

// publicKey is a key that may be told to everybody.
type publicKey struct {
	PublicKey string `json:"public_key"`
}

func (r *run) consoleKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Say the public key with which this home would be a console",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := operatorOnly("make a console of a home"); err != nil {
				return err
			}
			c, err := r.here("fleet")
			if err != nil {
				return err
			}
			key, err := app.ConsoleKey(c)
			if err != nil {
				return err
			}
			return shown(r, publicKey{key}, func(k publicKey) { fmt.Fprintln(r.out, k.PublicKey) })
		},
	}
}

func (r *run) consoleEnroll() *cobra.Command {
	return &cobra.Command{
		Use:   "enroll NAME KEY",
		Short: "Make the home with a key a console, by the root key in this home",
		Args:  cobra.ExactArgs(2), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("enroll a console"); err != nil {
				return err
			}
			return asConsole(r, func(c *fleet.Console) (fleet.EnrolledConsole, error) {
				return c.EnrollConsole(cmd.Context(), args[0], args[1])
			}, func(e fleet.EnrolledConsole) {
				fmt.Fprintf(r.out, "%s is a console (revision %d)\nin the home that has this key, say:\n\n", plain.Text(e.Console), e.Revision)
				fmt.Fprintf(r.out, "holdfast fleet console join %s\n\nthe word is no secret\n", e.Token)
			})
		},
	}
}

func (r *run) consoleJoin() *cobra.Command {
	return &cobra.Command{
		Use:   "join WORD",
		Short: "Make this home the console that it was enrolled as",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("make a console of a home"); err != nil {
				return err
			}
			word, err := r.word("word", args[0])
			if err != nil {
				return err
			}
			return r.joinConsole(cmd.Context(), word)
		},
	}
}

func (r *run) joinConsole(ctx context.Context, word string) error {
	c, err := r.here("fleet")
	if err != nil {
		return err
	}
	is, err := app.JoinConsole(ctx, c, word)
	if err != nil {
		return err
	}
	return shown(r, is, func(is fleet.At) {
		fmt.Fprintf(r.out, "this home is a console of the fleet\n%s\nnext: holdfast fleet boxes\n", asOfRoster(is))
	})
}

// asOfRoster says of which version something is said.
func asOfRoster(a fleet.At) string {
	return fmt.Sprintf("as of revision %d, written %s by %s", a.Revision, at(a.WrittenAt), plain.Text(a.Writer))
}
