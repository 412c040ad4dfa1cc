package extent

import (
	"os"
	"strconv"
)

// reopenDescriptor opens what file has open through the kernel's own link to
// it, which names the file itself and not the path that it once had.
func reopenDescriptor(file *os.File) (again *os.File, err error) {
	err = withDescriptor(file, func(fd int) (err error) {
		again, err = os.Open("/proc/self/fd/" + strconv.Itoa(fd))
		return err
	})
	return again, err
}
