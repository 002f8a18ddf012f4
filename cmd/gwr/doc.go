// Command gwr explains what proxies do with a request, from the objects in files. It computes with the same packages as the controller.
package main
