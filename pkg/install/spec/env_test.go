package spec

import (
	"io"
	"os"
	"strings"
	"testing"
)

// A file that is no document may be a secret that was given by mistake.
func TestWhatIsNoDocumentIsNotRepeated(t *testing.T) {
	for _, text := range []string{"geheim", "*geheim", "!geheim x", "- geheim", "\"geheim", "a: b: geheim", "geheim: [", "&geheim x", "12\tgeheim"} {
		_, err := Parse(t.Context(), "x", []byte(text), Env{})
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What a program prints beside its result may hold the secret: it reaches
// neither the terminal nor the error, which tells the exit status.
func TestProgramsStandardErrorIsNotShown(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	terminal := os.Stderr
	os.Stderr = write
	out, failed := run(t.Context(), []string{"sh", "-c", "echo geheim >&2; echo result"}, nil)
	_, status := run(t.Context(), []string{"sh", "-c", "echo geheim >&2; echo geheim; exit 7"}, nil)
	os.Stderr = terminal
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if len(shown) != 0 || failed != nil || string(out) != "result\n" {
		t.Errorf("shown %q, result %q, error %v", shown, out, failed)
	}
	if status == nil || !strings.Contains(status.Error(), "exit status 7") || strings.Contains(status.Error(), "geheim") {
		t.Errorf("error %v", status)
	}
}
