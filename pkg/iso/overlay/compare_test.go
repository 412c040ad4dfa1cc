package overlay_test

import (
	"bytes"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

func TestTag(t *testing.T) {
	content := noise(1, 10_000)
	first, second := file(t, content), file(t, content)
	base := func() *overlay.Image { return overlay.New(first, 10_000) }
	with := func(change func(*overlay.Image)) *overlay.Image {
		m := base()
		change(m)
		return m
	}
	tag := base().Tag("a")
	if len(tag) < 10 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		t.Errorf("%s is no strong entity tag", tag)
	}
	same := map[string]string{
		"the same again":       base().Tag("a"),
		"another open of it":   overlay.New(second, 10_000).Tag("a"),
		"a copy":               base().Clone().Tag("a"),
		"a base in memory":     overlay.New(bytes.NewReader(content), 10_000).Tag("a"),
		"patched and restored": with(func(m *overlay.Image) { m.Zero(5, 5); m.OverlayFrom(5, first, 5, 5) }).Tag("a"),
	}
	for name, got := range same {
		check.Equal(t, got, tag, name)
	}
	other := noise(2, 10_000)
	different := map[string]string{
		"another base":     base().Tag("b"),
		"a patch":          with(func(m *overlay.Image) { m.Overlay(5, []byte("x")) }).Tag("a"),
		"another patch":    with(func(m *overlay.Image) { m.Overlay(5, []byte("y")) }).Tag("a"),
		"its place":        with(func(m *overlay.Image) { m.Overlay(6, []byte("x")) }).Tag("a"),
		"zeros":            with(func(m *overlay.Image) { m.Zero(5, 1) }).Tag("a"),
		"a length":         with(func(m *overlay.Image) { m.Truncate(9_999) }).Tag("a"),
		"another file":     with(func(m *overlay.Image) { m.OverlayFrom(5, second, 5, 5) }).Tag("a"),
		"another memory":   with(func(m *overlay.Image) { m.OverlayFrom(5, bytes.NewReader(content), 5, 5) }).Tag("a"),
		"yet other memory": with(func(m *overlay.Image) { m.OverlayFrom(5, bytes.NewReader(other), 5, 5) }).Tag("a"),
		"a part moved":     with(func(m *overlay.Image) { m.OverlayFrom(5, first, 50, 5) }).Tag("a"),
	}
	seen := map[string]string{tag: "untouched"}
	for name, got := range different {
		if before, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same tag", name, before)
		}
		seen[got] = name
	}
}

// TestTagReadsNothing uses a base that cannot be read any more.
func TestTagReadsNothing(t *testing.T) {
	base := file(t, noise(1, 10_000))
	m := overlay.New(base, 10_000)
	m.Overlay(50, []byte("patch"))
	want := m.Tag("a")
	base.Close()
	check.Equal(t, m.Tag("a"), want)
}
