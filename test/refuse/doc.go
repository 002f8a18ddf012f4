// Package refuse takes TCP ports at which connections are refused for as long as a test runs.
package refuse
