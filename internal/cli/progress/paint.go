package progress

// style is what a piece of text is, for a terminal that has colours.
type style string

// The styles, as SGR parameters (ECMA-48) of the sixteen colours that every
// theme sets itself.
const (
	stylePlain  style = ""
	styleStrong style = "1"
	styleFaint  style = "2"
	styleBad    style = "31"
	styleGood   style = "32"
	styleWarn   style = "33"
	styleActive style = "36"
)

// paint colours text, or leaves it as it is.
type paint bool

func (p paint) text(s style, text string) string {
	if !p || s == stylePlain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
