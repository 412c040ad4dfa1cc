package model

import "time"

// Millis is a time as the API's date-time fields print it: milliseconds, UTC,
// and year 1 for "never".
type Millis time.Time

// MarshalJSON implements json.Marshaler.
func (t Millis) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// Micros is a time as the fields that come straight from the database print it:
// up to microseconds, without trailing zeros.
type Micros time.Time

// MarshalJSON implements json.Marshaler.
func (t Micros) MarshalJSON() ([]byte, error) {
	at := time.Time(t).UTC().Truncate(time.Microsecond)
	return at.AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}
