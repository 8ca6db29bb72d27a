'use client'
import { useEffect } from 'react'

export default function Page() {
  useEffect(() => {
    import('../app.js')
  }, [])
  return <p>app</p>
}
