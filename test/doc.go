// Package test holds the tests that look at the project as a whole rather
// than at one package: the walls between its parts, the module that an
// importer would write, the documents.
package test
