package desk

import (
	"net/http"
	"path"
	"strings"
)

// show is how the item view presents an item.
type show string

const (
	showPicture show = "picture"
	showAudio   show = "audio"
	showVideo   show = "video"
	showFrame   show = "frame"
	showProse   show = "prose"
	showText    show = "text"
	showNothing show = "nothing" // only to open alone or download
)

// byExtension is the media types that browsers and people agree on; the
// machine's own table is not asked, so that every desk answers alike.
var byExtension = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8",
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp", ".ico": "image/x-icon",
	".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime", ".ogv": "video/ogg",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".wav": "audio/wav", ".ogg": "audio/ogg", ".opus": "audio/ogg", ".flac": "audio/flac",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".tar": "application/x-tar",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
	".md": "text/markdown; charset=utf-8", ".markdown": "text/markdown; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".xml": "text/xml; charset=utf-8",
}

// mediaType is what an item is served as: by its extension, else by its first
// bytes, of which it needs at most 512.
func mediaType(name string, head func() []byte) string {
	if t, ok := byExtension[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return http.DetectContentType(head())
}

// showAs is how an item of a media type is presented.
func showAs(mediaType string) show {
	base, _, _ := strings.Cut(mediaType, ";")
	kind, _, _ := strings.Cut(base, "/")
	switch {
	case base == "text/html":
		return showFrame
	case base == "text/markdown":
		return showProse
	case kind == "image":
		return showPicture
	case kind == "audio":
		return showAudio
	case kind == "video":
		return showVideo
	case kind == "text", base == "application/json":
		return showText
	default:
		return showNothing
	}
}

// label names what an item is on a tile that has no picture.
func label(name string) string {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	if ext == "" || len(ext) > 8 {
		return "file"
	}
	return ext
}
