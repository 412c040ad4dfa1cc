package upgrade

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
