// Package modelreader is a server of an Extension that reads which model a request asks for, and what its response has used. Enter at
// [Server]. It must not know Gatewright, nor what is tested.
package modelreader
