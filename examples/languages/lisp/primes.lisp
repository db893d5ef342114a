(define (divides? d n)
  (= (remainder n d) 0))

(define (prime? n)
  (let loop ((d 2))
    (cond ((> (* d d) n) #t)
          ((divides? d n) #f)
          (else (loop (+ d 1))))))

(define (primes n)
  (filter prime? (iota (- n 1) 2)))

(display (primes 30))
