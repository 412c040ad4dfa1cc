package hostfile

import (
	"net"
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestDial(t *testing.T) {
	files := Files{Root: t.TempDir()}
	_, err := files.Dial("/program.sock", "/own.sock")
	check.Says(t, err, "no such file")
	check.Equal(t, files.Exists("/own.sock"), false, "a socket without connection")

	program := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: files.Path("/program.sock"), Net: "unixgram"}))(t)
	defer program.Close()
	connection := must.Get(files.Dial("/program.sock", "/own.sock"))(t)
	check.Equal(t, must.Get(os.Stat(files.Path("/own.sock")))(t).Mode().Perm(), 0o666)
	must.Get(connection.Write([]byte("question")))(t)
	buffer := make([]byte, 100)
	n, from, err := program.ReadFromUnix(buffer)
	must.Do(t, err)
	check.Equal(t, string(buffer[:n]), "question")
	must.Get(program.WriteToUnix([]byte("answer"), from))(t)
	n = must.Get(connection.Read(buffer))(t)
	check.Equal(t, string(buffer[:n]), "answer")
	must.Do(t, connection.Close())
	check.Equal(t, files.Exists("/own.sock"), false)
}

func TestDialOutsideOfTheTest(t *testing.T) {
	_, err := Files{}.Dial("/run/chrony/chronyd.sock", "/run/chrony/test.sock")
	check.Says(t, err, "a test may not change this machine")
}
