// Package setting reads from the environment how much a test draws, and from which seed.
// What is wrong there fails the test, with what to write instead: nobody is to believe that
// ten thousand were drawn when it was ten.
package setting
