// Package jwt makes JSON Web Tokens, and the keys that they are verified with, for tests. Enter at [New]. It must not know who reads them.
package jwt
