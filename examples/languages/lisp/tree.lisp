(defstruct node key left right)

(defun insert (tree key)
  (cond ((null tree) (make-node :key key))
        ((< key (node-key tree))
         (setf (node-left tree) (insert (node-left tree) key))
         tree)
        (t
         (setf (node-right tree) (insert (node-right tree) key))
         tree)))

(defun depth (tree)
  (if tree
      (1+ (max (depth (node-left tree)) (depth (node-right tree))))
      0))
