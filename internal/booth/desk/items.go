package desk

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// contentURL is an item's address for a page of the desk: good for this booth's
// bytes, for this reader, for at most an hour.
func (d *Desk) contentURL(r *http.Request, name, item string) string {
	token, err := d.Key.ContentToken(name, browserSession(r), d.Now())
	if err != nil { // no browser: the asker has a credential for the plain address
		return d.itemURL(name, item)
	}
	return d.Base.URL(append([]string{"c", token}, strings.Split(item, "/")...)...)
}

// browserSession is whom a content address is for, empty where no browser asks.
func browserSession(r *http.Request) string {
	switch p := web.PartyOf(r).(type) {
	case access.Operator:
		return p.Session
	case access.Anonymous:
		return access.AnonymousSession
	case access.Worker, access.Observer, access.Frame:
	}
	return ""
}

// itemURL is an item's plain address.
func (d *Desk) itemURL(name, item string) string {
	return d.Base.URL(append([]string{"b", name}, strings.Split(item, "/")...)...)
}

// serveItem sends an item's bytes at its plain address.
func (d *Desk) serveItem(w http.ResponseWriter, r *http.Request) error {
	return d.sendItem(w, r, r.PathValue("booth"), false)
}

// serveContent sends an item's bytes at an address with a token. Only there may
// the booth's own scripts, which have no origin, read them.
func (d *Desk) serveContent(w http.ResponseWriter, r *http.Request) error {
	frame, ok := web.PartyOf(r).(access.Frame)
	if !ok {
		return problem.New(problem.Failed, problem.StepInternal, "This address was opened without its token.")
	}
	return d.sendItem(w, r, frame.Booth, true)
}

func (d *Desk) sendItem(w http.ResponseWriter, r *http.Request, name string, own bool) error {
	b, err := d.openNamed(name)
	if err != nil {
		return err
	}
	defer b.Close()
	path := r.PathValue("item")
	if path == "" || strings.HasSuffix(path, "/") {
		path += booth.ReportFile
	}
	item, err := b.Find(path)
	if err != nil {
		return err
	}
	f, err := b.Open(item)
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	web.Sandbox(w, own)
	h.Set("Content-Type", mediaType(item.String(), headOf(f)))
	h.Set("ETag", f.ETag())
	h.Set("Cache-Control", "private, no-cache")
	if r.URL.Query().Get("download") == "1" {
		h.Set("Content-Disposition", attachment(item.Base()))
	}
	if r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Range"), "bytes=") {
		r.Header.Del("Range") // RFC 9110, 14.2: it is for a GET, and a unit that is not known is ignored
	}
	http.ServeContent(ranged{w, f.Size()}, r, "", f.ModTime(), f.File)
	return nil
}

// ranged says how long an item is wherever a range of it is refused, also one
// that is malformed: RFC 9110, 15.5.17.
type ranged struct {
	http.ResponseWriter

	size int64
}

func (w ranged) WriteHeader(status int) {
	if h := w.Header(); status == http.StatusRequestedRangeNotSatisfiable && h.Get("Content-Range") == "" {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", w.size))
	}
	w.ResponseWriter.WriteHeader(status)
}

// ReadFrom keeps the way by which the kernel sends a file.
func (w ranged) ReadFrom(src io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, src) }

func (w ranged) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// attachment names a file for saving. A name that a header cannot hold is
// written with its escapes.
func attachment(name string) string {
	if v := mime.FormatMediaType("attachment", map[string]string{"filename": plain.Text(name)}); v != "" {
		return v
	}
	return "attachment"
}

// serveZip sends a whole booth. Its length is known beforehand, so that a
// download that was cut short is seen to be.
func (d *Desk) serveZip(w http.ResponseWriter, r *http.Request, b *folder.Booth) error {
	l := booth.At(r.Context(), b, d.terms())
	archive, err := b.Zip(l.Items)
	if err != nil {
		return err
	}
	d.viewed(r, b)
	h := w.Header()
	web.Sandbox(w, false)
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Length", fmt.Sprint(archive.Size()))
	h.Set("Content-Disposition", attachment(b.Name().String()+".zip"))
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := archive.WriteTo(w); err != nil {
		d.Log.Warn("zip cut short", "booth", plain.Text(b.Name().String()), "err", err)
		panic(http.ErrAbortHandler) // the only way to tell the reader: the connection ends
	}
	return nil
}

// servePut takes one file into a booth, making the booth if there is none.
func (d *Desk) servePut(w http.ResponseWriter, r *http.Request) error {
	name, err := folder.ParseName(r.PathValue("booth"))
	if err != nil {
		return err
	}
	item, err := folder.ParseItem(r.PathValue("item"))
	if err != nil {
		return err
	}
	created := false
	err = d.Data.Fill(name, func(b *folder.Booth) error {
		created, err = b.Put(item, folder.Sized{Reader: r.Body, Length: r.ContentLength}, booth.MaxItem)
		return err
	})
	if err != nil {
		return err
	}
	d.Changed(name.String())
	w.Header().Set("Location", d.itemURL(name.String(), item.String()))
	if created {
		w.WriteHeader(http.StatusCreated)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// readItem reads a whole item of at most limit bytes.
func readItem(b *folder.Booth, path string, limit int64) ([]byte, error) {
	item, err := folder.ParseItem(path)
	if err != nil {
		return nil, err
	}
	f, err := b.Open(item)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, folder.ErrTooLarge
	}
	return readOpen(f, limit)
}

// readOpen reads at most limit bytes from the beginning of an open item.
func readOpen(f *folder.File, limit int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, 0, limit))
}

// headOf reads the first bytes of an item, for its type.
func headOf(f *folder.File) func() []byte {
	return func() []byte {
		head, err := readOpen(f, 512)
		if err != nil {
			return nil
		}
		return head
	}
}
