package values

import "fmt"

// CheckErrorStatus says what is wrong with the status of a response that reports an error. Envoy has a list of them.
func CheckErrorStatus(field string, status int) string {
	switch {
	case status >= 400 && status <= 417, status >= 421 && status <= 424, status == 426, status == 428, status == 429, status == 431,
		status >= 500 && status <= 508, status == 510, status == 511:
		return ""
	default:
		return fmt.Sprintf("%s %d is not a status of errors that Envoy knows; use one such as 403, 500 or 503", field, status)
	}
}
